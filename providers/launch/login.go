package launch

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol"
)

// A Person sits at the terminal of this process.
type Person interface {
	// Ask puts a prompt to them.
	Ask(ctx context.Context, p providers.LoginPrompt) (answers []string, err error)
	// Wait waits until they want to log in to a backend again.
	Wait(ctx context.Context, backend string) error
}

// logins are the backends that wait for a person, and the way to stop each wait.
type logins struct {
	mu      sync.Mutex
	waiting map[string]context.CancelFunc
}

// Login lets a person answer the questions of a backend's hosts before a call with little
// time. Without a person, or with a provider that asks nothing, it does nothing.
func (r *remote) Login(ctx context.Context, backend string) error {
	person := r.launcher.opts.Person
	if person == nil {
		return nil
	}
	return r.do(ctx, backend, func(c *protocol.Client) error {
		if !c.Logins() {
			return nil
		}
		return c.Login(ctx, backend, person.Ask)
	}, nil)
}

// heard notes how a call about a backend ended. After one that needs a person to log in, a
// running command waits for them, so that it asks no host before; any answer of the backend
// ends that wait.
func (r *remote) heard(backend string, err error) {
	if backend == "" || r.launcher.opts.Person == nil {
		return
	}
	l := &r.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	stop, waits := l.waiting[backend]
	switch wants := providers.WantsLogin(err) != ""; {
	case wants && !waits:
		ctx, cancel := context.WithCancel(r.launcher.ctx)
		if l.waiting == nil {
			l.waiting = map[string]context.CancelFunc{}
		}
		l.waiting[backend] = cancel
		go func() {
			defer r.forget(backend)
			if r.launcher.opts.Person.Wait(ctx, backend) == nil {
				_ = r.Login(ctx, backend)
			}
		}()
	case !wants && waits && (err == nil || !unheard(err)):
		stop()
	}
}

func (r *remote) forget(backend string) {
	r.logins.mu.Lock()
	defer r.logins.mu.Unlock()
	r.logins.waiting[backend]()
	delete(r.logins.waiting, backend)
}

// unheard reports whether an error says nothing about the backend itself.
func unheard(err error) bool {
	var e *providers.Error
	return !errors.As(err, &e) || e.Class == providers.Unreachable || e.Class == providers.Auth
}
