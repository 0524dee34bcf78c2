package host

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/providers"
)

// A handler answers one kind of question.
type handler func(ctx context.Context, body json.RawMessage) (any, error)

// A server answers questions on connections. Questions on one connection are
// answered concurrently.
type server struct {
	handlers map[string]handler
	conns    atomic.Int64
}

// serve answers until the connection or ctx ends.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	s.conns.Add(1)
	defer s.conns.Add(-1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { conn.Close() })
	s.answer(ctx, newFrames(conn))
}

func (s *server) answer(ctx context.Context, f *frames) {
	ctx, stop := context.WithCancel(ctx)
	var open sync.Map // question → its cancel
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for {
		m, err := f.read()
		if err != nil {
			return
		}
		if m.Op == "cancel" {
			if c, ok := open.Load(m.ID); ok {
				c.(context.CancelFunc)()
			}
			continue
		}
		one, done := context.WithCancel(ctx)
		open.Store(m.ID, done)
		wg.Go(func() {
			defer open.Delete(m.ID)
			defer done()
			if f.write(s.reply(one, m)) != nil {
				stop()
			}
		})
	}
}

func (s *server) reply(ctx context.Context, m message) message {
	out := message{ID: m.ID}
	h := s.handlers[m.Op]
	if h == nil {
		out.Error = providers.Errorf(providers.Invalid, "The queue does not know %q", m.Op)
		return out
	}
	v, err := h(ctx, m.Body)
	if err == nil {
		out.Body, err = json.Marshal(v)
	}
	if err != nil {
		out.Error = asError(err)
	}
	return out
}

// handle makes a handler of a typed function.
func handle[In, Out any](fn func(context.Context, In) (Out, error)) handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Question cannot be read: %v", err)
		}
		return fn(ctx, in)
	}
}

// The bodies of questions about a place.
type (
	findBody struct {
		Place  Place    `json:"place"`
		Tokens []string `json:"tokens"`
	}
	watchBody struct {
		Place   Place         `json:"place"`
		Handles []string      `json:"handles,omitempty"`
		Cursor  string        `json:"cursor"`
		Ack     *string       `json:"ack,omitempty"` // nil: an older client, whose cursor acknowledges
		Wait    time.Duration `json:"wait"`
	}
	cancelBody struct {
		Place   Place                   `json:"place"`
		Request providers.CancelRequest `json:"request"`
	}
	controlBody struct {
		Place   Place                    `json:"place"`
		Request providers.ControlRequest `json:"request"`
	}
	removeBody struct {
		Place   Place                   `json:"place"`
		Request providers.RemoveRequest `json:"request"`
	}
	nothing struct{}
)

// handlers are the questions a queue answers.
func (q *queue) handlers(revision int, yield func()) map[string]handler {
	return map[string]handler{
		"hello": handle(func(_ context.Context, h hello) (hello, error) {
			return hello{Min: protocolMin, Max: Protocol, Revision: revision, PID: os.Getpid(), Spool: q.spool}, nil
		}),
		"submit": handle(q.submit),
		"find": handle(func(ctx context.Context, b findBody) (any, error) {
			return q.find(ctx, b.Place, b.Tokens)
		}),
		"watch": handle(func(ctx context.Context, b watchBody) (providers.Batch, error) {
			return q.watch(ctx, b)
		}),
		"cancel_jobs": handle(func(ctx context.Context, b cancelBody) (any, error) {
			return q.cancel(ctx, b.Place, b.Request)
		}),
		"control": handle(func(ctx context.Context, b controlBody) (nothing, error) {
			return nothing{}, q.control(ctx, b.Place, b.Request)
		}),
		"remove": handle(func(ctx context.Context, b removeBody) (nothing, error) {
			return nothing{}, q.remove(ctx, b.Place, b.Request)
		}),
		"status": handle(func(ctx context.Context, _ nothing) (s status, err error) {
			err = q.do(ctx, func() { s = q.status() })
			s.PID = os.Getpid()
			return s, err
		}),
		"clean": handle(func(ctx context.Context, _ nothing) (any, error) { return q.clean(ctx) }),
		"yield": handle(func(ctx context.Context, _ nothing) (nothing, error) {
			yield()
			return nothing{}, nil
		}),
	}
}
