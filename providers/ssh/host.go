package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
	"github.com/muster-run/muster/providers/protocol"
)

// openTimeout bounds the opening of a session, the copying of the binary over
// a slow link included.
const openTimeout = 20 * time.Minute

// A host is one machine and the one session with its agent.
//
//	absent ──open──▶ session ──link dies, or agent ends──▶ absent … until close
type host struct {
	name     string // as the campaign names it
	client   *sshx.Client
	install  string // folder of the binary; "" = the default
	binaries *binaries
	ctx      context.Context // ends with close
	end      context.CancelFunc

	mu      sync.Mutex
	current *session
	opening *opening
	away    error    // why the last opening came to nothing, nil if it did not
	news    []string // installed, and not yet reported
}

// An opening is one attempt, waited for by all who need the host.
type opening struct {
	done    chan struct{}
	session *session
	err     error
}

func newHost(name string, client *sshx.Client, install string, from *binaries) *host {
	h := &host{name: name, client: client, install: install, binaries: from}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// A session is one agent and the backends that it knows.
type session struct {
	*agent.Client
	stream sshx.Stream

	mu         sync.Mutex
	configured map[string]bool
}

func (s *session) alive() bool {
	select {
	case <-s.Ended():
		return false
	default:
		return true
	}
}

// configure sends a backend to the agent once.
func (s *session) configure(ctx context.Context, b *backend) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configured[b.Name] {
		return nil
	}
	if err := s.Configure(ctx, b.Backend); err != nil {
		return err
	}
	s.configured[b.Name] = true
	return nil
}

// forget makes the next call send a backend to the agent again.
func (h *host) forget(backend string) {
	h.mu.Lock()
	s := h.current
	h.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		delete(s.configured, backend)
		s.mu.Unlock()
	}
}

// session is the living one, or a new one. An opening continues after its caller has given up,
// and the next caller finds it further along.
func (h *host) session(ctx context.Context) (*session, error) {
	h.mu.Lock()
	if h.ctx.Err() != nil {
		h.mu.Unlock()
		return nil, errClosed
	}
	if s := h.current; s != nil {
		if s.alive() {
			h.mu.Unlock()
			return s, nil
		}
		h.current = nil
		go s.Close()
	}
	o := h.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		h.opening = o
		go h.open(o)
	}
	away := h.away
	h.mu.Unlock()
	ctx, stop := early(ctx)
	defer stop()
	var patience <-chan time.Time
	if away != nil {
		patience = time.After(whileAway)
	}
	select {
	case <-o.done:
		return o.session, o.err
	case <-patience:
		return nil, away
	case <-ctx.Done():
		return nil, h.tooLate(ctx)
	}
}

// whileAway is how long a call waits for a host that could not be reached the
// last time: it is looked for all the same, and the others need not wait.
const whileAway = 2 * time.Second

// answerTime is the part of a caller's time that is kept for saying why it ran out.
const answerTime = 500 * time.Millisecond

// early ends a little before ctx does, so that the answer still arrives; who
// has hardly any time gets none.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) > 4*answerTime {
		return context.WithDeadline(ctx, end.Add(-answerTime))
	}
	return context.WithCancel(ctx)
}

var errClosed = errors.New("the provider is shut down")

// tooLate is the error for a caller that stops waiting for a session: it says that the host
// cannot be reached, and nothing about its jobs.
func (h *host) tooLate(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return &providers.Error{Class: providers.Unreachable, Summary: "No answer from " + h.name + " in time",
		Detail: "The connection, or the first copy of muster's program to the host, takes longer than this command waits.",
		Hint:   "muster backends waits until it is done."}
}

func (h *host) open(o *opening) {
	ctx, stop := context.WithTimeout(h.ctx, openTimeout)
	defer stop()
	o.session, o.err = h.enter(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opening = nil
	if h.ctx.Err() != nil && o.err == nil {
		go o.session.Close()
		o.session, o.err = nil, errClosed
	}
	h.current, h.away = o.session, nil
	if cannotAsk(o.err) {
		h.away = o.err
	}
	close(o.done)
}

// do makes a call about a backend. A link that dies meanwhile leaves its
// outcome unknown.
func (h *host) do(ctx context.Context, b *backend, call func(*session) error) error {
	s, err := h.attempt(ctx, b, call)
	if !errors.Is(err, protocol.ErrBroken) {
		return err
	}
	return h.lost(s, err)
}

// ask makes a call that may be repeated: one that changes nothing, or whose repetition is
// recognised by its token. It opens a link that breaks meanwhile again, once.
func (h *host) ask(ctx context.Context, b *backend, call func(*session) error) error {
	s, err := h.attempt(ctx, b, call)
	if !errors.Is(err, protocol.ErrBroken) {
		return err
	}
	if why := h.lost(s, err); ctx.Err() != nil {
		return why
	}
	return h.do(ctx, b, call)
}

func (h *host) attempt(ctx context.Context, b *backend, call func(*session) error) (*session, error) {
	s, err := h.session(ctx)
	if err != nil {
		return nil, err
	}
	if err = s.configure(ctx, b); err == nil {
		err = call(s)
	}
	return s, err
}

// lost ends a session that no longer works, and says why if that is known.
func (h *host) lost(s *session, err error) error {
	_ = s.Close()
	h.mu.Lock()
	if h.current == s {
		h.current = nil
	}
	h.mu.Unlock()
	out := &providers.Error{Class: providers.Unreachable, Summary: "The connection to " + h.name + " broke", Detail: err.Error(),
		Hint: "Running jobs continue."}
	ctx, stop := context.WithTimeout(context.Background(), lastWords)
	defer stop()
	if exit, why := waitFor(ctx, s.stream); why != nil {
		out.Detail = why.Error()
	} else if strings.Contains(err.Error(), "keepalive") {
		out.Detail = "It sends nothing."
	} else if exit.Code != 0 || exit.Signal != "" {
		out.Detail = fmt.Sprintf("muster's agent there ended with %s", describe(exit))
	}
	return out
}

// lastWords is how long a stream that has ended may take to say how.
const lastWords = 500 * time.Millisecond

// waitFor waits for a stream's end, no longer than ctx.
func waitFor(ctx context.Context, s sshx.Stream) (exit sshx.Exit, err error) {
	type end struct {
		exit sshx.Exit
		err  error
	}
	got := make(chan end, 1)
	go func() {
		exit, err := s.Wait()
		got <- end{exit, err}
	}()
	select {
	case e := <-got:
		return e.exit, e.err
	case <-ctx.Done():
		return sshx.Exit{Stderr: s.Stderr()}, nil
	}
}

// drop ends the session, if there is one; the next call opens another.
func (h *host) drop() {
	h.mu.Lock()
	s := h.current
	h.current = nil
	h.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
}

// tell notes a message for the user.
func (h *host) tell(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.news = append(h.news, fmt.Sprintf(format, args...))
}

// told returns the messages for the user.
func (h *host) told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := h.news
	h.news = nil
	return news
}

func (h *host) close() error {
	h.end()
	h.drop()
	return h.client.Close()
}
