package queue

import (
	"context"
	"os"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/wire"
)

// handlers are the questions a queue answers.
func (q *queue) handlers(revision int, yield func()) map[string]wire.Handler {
	return map[string]wire.Handler{
		"hello": wire.Handle(func(_ context.Context, h wire.Hello) (wire.Hello, error) {
			return wire.Hello{Min: wire.ProtocolMin, Max: wire.Protocol, Revision: revision, PID: os.Getpid(), Spool: q.spool}, nil
		}),
		// A pong says that the queue itself is well, not only its connections.
		"ping": wire.Handle(func(ctx context.Context, _ wire.Nothing) (wire.Nothing, error) {
			return wire.Nothing{}, q.do(ctx, func() {})
		}),
		"submit": wire.Handle(q.submissions.submit),
		"find": wire.Handle(func(ctx context.Context, b wire.Find) (any, error) {
			return q.requests.find(ctx, b.Place, b.Tokens)
		}),
		"watch": wire.Handle(func(ctx context.Context, b wire.Watch) (providers.Batch, error) {
			return q.events.watch(ctx, b)
		}),
		"cancel_jobs": wire.Handle(func(ctx context.Context, b wire.Cancel) (any, error) {
			return q.requests.cancel(ctx, b.Place, b.Request)
		}),
		"control": wire.Handle(func(ctx context.Context, b wire.Control) (wire.Nothing, error) {
			return wire.Nothing{}, q.requests.control(ctx, b.Place, b.Request)
		}),
		"remove": wire.Handle(func(ctx context.Context, b wire.Remove) (wire.Nothing, error) {
			return wire.Nothing{}, q.requests.remove(ctx, b.Place, b.Request)
		}),
		"status": wire.Handle(func(ctx context.Context, _ wire.Nothing) (s wire.QueueStatus, err error) {
			s, err = ask(ctx, q.core, q.requests.status)
			s.PID = os.Getpid()
			return s, err
		}),
		"clean": wire.Handle(func(ctx context.Context, b wire.Clean) (any, error) { return q.requests.clean(ctx, b.Place) }),
		"yield": wire.Handle(func(ctx context.Context, _ wire.Nothing) (wire.Nothing, error) {
			yield()
			return wire.Nothing{}, nil
		}),
	}
}
