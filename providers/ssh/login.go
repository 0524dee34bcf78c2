package ssh

import (
	"context"
	"sync"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers"
)

var _ providers.Loginer = (*SSH)(nil)

// asker shows the questions of ssh servers to a person.
type asker struct{ ask providers.Ask }

func (a asker) Ask(ctx context.Context, p sshx.Prompt) ([]string, error) {
	out := providers.LoginPrompt{Who: p.Who, Name: p.Name, Instruction: p.Instruction}
	for _, q := range p.Questions {
		out.Questions = append(out.Questions, providers.LoginQuestion(q))
	}
	return a.ask(ctx, out)
}

// Login connects to the hosts of a backend, one connection each, which all
// calls then share. A host that cannot be reached is not waited for longer than
// by any call, and says why in the next one.
func (s *SSH) Login(ctx context.Context, name string, ask providers.Ask) error {
	b, err := s.backend(name)
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	for _, h := range b.hosts {
		work.Go(func() { _ = h.client.Login(ctx, asker{ask}) })
	}
	work.Wait()
	return ctx.Err()
}
