package wire

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"sync/atomic"

	"github.com/muster-run/muster/providers"
)

// A Handler answers one kind of question.
type Handler func(ctx context.Context, body json.RawMessage) (any, error)

// A Server answers questions on connections. Questions on one connection are
// answered concurrently.
type Server struct {
	Handlers map[string]Handler
	conns    atomic.Int64
}

// Conns is how many connections are open.
func (s *Server) Conns() int { return int(s.conns.Load()) }

// Serve answers until the connection or ctx ends.
func (s *Server) Serve(ctx context.Context, conn net.Conn) {
	s.conns.Add(1)
	defer s.conns.Add(-1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { conn.Close() })
	s.answer(ctx, newFrames(conn))
}

func (s *Server) answer(ctx context.Context, f *frames) {
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
			reply := s.reply(one, m)
			if reply.Error != nil && ctx.Err() != nil {
				return // a queue that ends refuses nothing: who asks sees the connection end
			}
			if f.write(reply) != nil {
				stop()
			}
		})
	}
}

func (s *Server) reply(ctx context.Context, m message) message {
	out := message{ID: m.ID}
	h := s.Handlers[m.Op]
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

// Handle makes a handler of a typed function.
func Handle[In, Out any](fn func(context.Context, In) (Out, error)) Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Question cannot be read: %v", err)
		}
		return fn(ctx, in)
	}
}
