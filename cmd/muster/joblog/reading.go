package joblog

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A Reading is what of jobs' logs is read, and where it is shown.
type Reading struct {
	Reach          func(ctx context.Context, backend string) (providers.Provider, error)
	Attempt, Lines int
	Follow         bool
	Format         Format
	Out            io.Writer
}

// All shows one log after the other, or all at once when they are followed,
// and reports whether there was anything to show.
func (r Reading) All(ctx context.Context, jobs []*state.Job) (printed bool, err error) {
	var mu sync.Mutex // of Out, and of printed
	errs := make([]error, len(jobs))
	one := func(i int) {
		some, err := r.one(ctx, jobs[i], &mu)
		mu.Lock()
		defer mu.Unlock()
		printed, errs[i] = printed || some, err
	}
	if !r.Follow {
		for i := range jobs {
			one(i)
		}
		return printed, errors.Join(errs...)
	}
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() { one(i) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return printed, nil // the reader has seen enough
	}
	return printed, errors.Join(errs...)
}

// one shows the log of one job, each line whole.
func (r Reading) one(ctx context.Context, j *state.Job, mu *sync.Mutex) (printed bool, err error) {
	at, err := Attempt(j, r.Attempt)
	if err != nil {
		return false, command.Usagef("%s", err)
	}
	p, err := r.Reach(ctx, at.Backend)
	if err != nil {
		return false, err
	}
	w := r.Format.Writer(j, at, r.Out, mu)
	err = p.Logs(ctx, providers.LogRequest{Backend: at.Backend, Token: at.Token, Handle: at.Handle, Attempt: at.N, Stderr: r.Format.Stderr, Lines: r.Lines, Follow: r.Follow}, w)
	w.Flush()
	return w.printed, err
}
