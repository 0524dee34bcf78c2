package protocol

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// errNobody ends a login that nobody answers.
var errNobody = errors.New("nobody answers")

// Login implements providers.Loginer.
func (s *server) Login(st grpc.BidiStreamingServer[pb.LoginRequest, pb.LoginReply]) error {
	l, ok := s.provider.(providers.Loginer)
	if !ok {
		return s.UnimplementedProviderServer.Login(st)
	}
	first, err := st.Recv()
	if err != nil {
		return err
	}
	var turn sync.Mutex // hosts may ask at once
	err = l.Login(st.Context(), first.GetBackend(), func(ctx context.Context, p providers.LoginPrompt) ([]string, error) {
		turn.Lock()
		defer turn.Unlock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := st.Send(promptOut(p)); err != nil {
			return nil, err
		}
		over := context.AfterFunc(ctx, func() { _ = st.Send(&pb.LoginReply{Over: true}) })
		answer, err := st.Recv()
		stopped := !over()
		switch {
		case stopped:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case answer.GetLeft():
			return nil, errNobody
		}
		return answer.GetAnswers(), nil
	})
	return toStatus(st.Context(), err)
}

// Logins reports whether the provider is a providers.Loginer.
func (c *Client) Logins() bool { return c.has(abilityLogin) }

// Login implements providers.Loginer.
func (c *Client) Login(ctx context.Context, backend string, ask providers.Ask) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Login(ctx)
	if err != nil {
		return fromStatus(ctx, err)
	}
	if err := st.Send(&pb.LoginRequest{Backend: backend}); err != nil {
		return fromStatus(ctx, err)
	}
	prompts, end := make(chan *pb.LoginReply), make(chan error, 1)
	go func() {
		for {
			p, err := st.Recv()
			if err != nil {
				end <- err
				return
			}
			select {
			case prompts <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case err := <-end:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fromStatus(ctx, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-prompts:
			if p.GetOver() {
				continue // it was answered meanwhile
			}
			answers, err := waited(ctx, ask, promptIn(p), prompts)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			// The received error explains a failed Send.
			_ = st.Send(&pb.LoginRequest{Answers: answers, Left: err != nil})
		}
	}
}

// waited puts a prompt to a person for as long as the other side waits.
func waited(ctx context.Context, ask providers.Ask, p providers.LoginPrompt, next <-chan *pb.LoginReply) (answers []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		answers, err = ask(ctx, p)
	}()
	select {
	case <-done:
	case <-next: // over: nothing else is sent before the answer
		cancel()
		<-done
	}
	return answers, err
}

func promptOut(p providers.LoginPrompt) *pb.LoginReply {
	return &pb.LoginReply{Who: short(p.Who), Name: short(p.Name), Instruction: short(p.Instruction), Questions: each(p.Questions, func(q providers.LoginQuestion) *pb.LoginQuestion {
		return &pb.LoginQuestion{Text: short(q.Text), Echo: q.Echo}
	})}
}

func promptIn(p *pb.LoginReply) providers.LoginPrompt {
	return providers.LoginPrompt{Who: p.GetWho(), Name: p.GetName(), Instruction: p.GetInstruction(), Questions: each(p.GetQuestions(), func(q *pb.LoginQuestion) providers.LoginQuestion {
		return providers.LoginQuestion{Text: q.GetText(), Echo: q.GetEcho()}
	})}
}
