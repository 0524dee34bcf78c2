package launch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol"
)

const (
	maxTries   = 5                      // processes that one call may see die
	firstDelay = 50 * time.Millisecond  // before the second start in a row; doubled after
	maxDelay   = 5 * time.Second        // between two starts
	healthy    = 10 * time.Second       // a process that lived as long is not one of a row of crashes
	maxRetries = 2                      // of a call that returned "unreachable"
	retryDelay = 300 * time.Millisecond // before the first such retry; tripled after
	longAsk    = 30 * time.Second       // a call that took longer is not made again
	dying      = time.Second            // for a process to end after its connection broke
)

// remote is the provider of one type across the processes behind it.
//
//	absent ──start──▶ running ──crash──▶ absent (back-off) … until Close
type remote struct {
	launcher *Launcher
	typ      string

	mu       sync.Mutex
	current  *instance
	starting *launching
	crashes  int // in a row
	lastWord string
	backends map[string]providers.Backend
	told     map[string]told // by backend, the last request to Configure
	started  bool            // it has run at least once
	logins   logins
}

// told is a backend as Configure received it, and why the gate withheld it.
type told struct {
	backend  providers.Backend
	withheld error
}

// start is one attempt, waited for by all who need the provider.
type launching struct {
	done chan struct{}
	inst *instance
	err  error
}

// instance returns the running process, starting one if there is none.
func (r *remote) instance(ctx context.Context) (*instance, error) {
	r.mu.Lock()
	if err := r.launcher.ctx.Err(); err != nil {
		r.mu.Unlock()
		return nil, errClosed
	}
	if r.current != nil {
		if r.current.process.alive() {
			defer r.mu.Unlock()
			return r.current, nil
		}
		r.buryLocked()
	}
	s := r.starting
	if s == nil {
		s = &launching{done: make(chan struct{})}
		r.starting = s
		go r.run(s, r.delayLocked())
	}
	r.mu.Unlock()
	select {
	case <-s.done:
		return s.inst, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run makes one attempt after a delay.
func (r *remote) run(s *launching, delay time.Duration) {
	defer close(s.done)
	if s.err = sleep(r.launcher.ctx, delay); s.err == nil {
		var prog Program
		if prog, s.err = r.launcher.program.find(r.typ); s.err == nil {
			s.inst, s.err = r.launcher.launch(prog)
			var killed *shot
			if errors.As(s.err, &killed) && r.launcher.ctx.Err() == nil {
				s.inst, s.err = r.launcher.launch(prog)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = nil
	switch {
	case s.err != nil:
		r.crashes++
		r.lastWord = s.err.Error()
	case r.launcher.ctx.Err() != nil:
		go s.inst.end()
		s.inst, s.err = nil, errClosed
	default:
		r.current, r.started = s.inst, true
	}
}

// delayLocked is exponential with full jitter in its upper half.
func (r *remote) delayLocked() time.Duration {
	if r.crashes == 0 {
		return 0
	}
	d := min(firstDelay<<min(r.crashes-1, 10), maxDelay)
	return d/2 + rand.N(d/2)
}

// buryLocked forgets a process that is gone.
func (r *remote) buryLocked() {
	inst := r.current
	r.current = nil
	if time.Since(inst.born) > healthy {
		r.crashes = 0
	}
	r.crashes++
	r.lastWord = obituary(inst.process)
	r.launcher.opts.Logger.Named(r.typ).Warn("provider ended and is started again", "pid", inst.process.pid(), "fate", inst.process.fate())
	go inst.plugin.Kill() // only cleans up: sockets, goroutines
}

func obituary(p *process) string {
	said := p.fate()
	if tail := p.words(); tail != "" {
		said += "\nIts last words: " + lastWords(tail)
	}
	return said
}

// lost runs when a call's connection broke. It ends a process that still exists a little
// later: that one no longer works.
func (r *remote) lost(inst *instance) {
	select {
	case <-inst.process.done:
	case <-time.After(dying):
		_ = inst.process.Kill(context.Background())
		<-inst.process.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == inst {
		r.buryLocked()
	}
}

// do makes a call about a backend, on as many processes as it takes. The call may be repeated:
// every request to a provider is idempotent. progress reports whether the last try came
// further than the one before; nil means that it cannot.
func (r *remote) do(ctx context.Context, backend string, call func(*protocol.Client) error, progress func() bool) error {
	if err := r.toldOf(backend).withheld; err != nil {
		return err
	}
	for try := 1; ; try++ {
		begun := time.Now()
		inst, err := r.instance(ctx)
		if err == nil {
			err = r.once(ctx, inst, backend, call)
		} else if !r.restarts(err) {
			return err
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case inst != nil && !errors.Is(err, protocol.ErrBroken):
			return err
		}
		if inst != nil {
			r.lost(inst)
		}
		if progress != nil && progress() || time.Since(begun) > healthy {
			try = 0
		}
		if r.launcher.ctx.Err() != nil {
			return errClosed
		}
		if try >= maxTries {
			return r.givenUp(try)
		}
	}
}

// restarts reports whether a start that came to nothing is worth another
// one: only if the provider ever ran, else it is broken in itself.
func (r *remote) restarts(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e *providers.Error
	return r.started && errors.As(err, &e) && e.Class == providers.Internal
}

func (r *remote) once(ctx context.Context, inst *instance, backend string, call func(*protocol.Client) error) error {
	r.mu.Lock()
	b, ok := r.backends[backend]
	r.mu.Unlock()
	if ok {
		if err := inst.configure(ctx, b); err != nil {
			return err
		}
	}
	err := call(inst.client)
	r.heard(backend, err)
	return err
}

func (r *remote) givenUp(tries int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return crashing{&providers.Error{
		Class: providers.Unreachable, Summary: fmt.Sprintf("Provider %q keeps crashing", r.typ),
		Detail: fmt.Sprintf("It ended %d times during one call, at last with %s", tries, r.lastWord),
		Hint:   "MUSTER_LOG=debug shows what it says. Jobs that were submitted are not affected.",
	}}
}

// crashing is the end of a row of crashes: unreachable, and not retried here.
type crashing struct{ why *providers.Error }

func (c crashing) Error() string { return c.why.Error() }
func (c crashing) Unwrap() error { return c.why }

// ask is do for calls that answer once: "unreachable" is retried, bounded, unless it
// took long to find out: who asks may not wait as long again, and would miss the reason.
func (r *remote) ask(ctx context.Context, backend string, call func(*protocol.Client) error) error {
	delay := retryDelay
	for retry := 0; ; retry++ {
		began := time.Now()
		err := r.do(ctx, backend, call, nil)
		var e *providers.Error
		var c crashing
		if retry == maxRetries || errors.As(err, &c) || !errors.As(err, &e) || e.Class != providers.Unreachable || e.Login != "" {
			return err
		}
		if time.Since(began) > longAsk {
			return err
		}
		if sleep(ctx, delay/2+rand.N(delay/2)) != nil {
			return err
		}
		delay *= 3
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *remote) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || !r.current.process.alive() {
		return 0
	}
	return r.current.process.pid()
}

// close ends the process; the launcher's context has ended before.
func (r *remote) close() {
	r.mu.Lock()
	s := r.starting
	r.mu.Unlock()
	if s != nil {
		<-s.done
	}
	r.mu.Lock()
	inst := r.current
	r.current = nil
	r.mu.Unlock()
	if inst != nil {
		inst.end()
	}
}
