// Package sim is a backend that runs nothing. It simulates how a machine, a
// cluster or a rental would run the submitted jobs: it draws the waits,
// runtimes and failures of each launch from the launch's name, so that one seed
// always gives the same results.
//
// On a virtual clock a month passes as fast as its events can be processed. The
// engine above it is the real one.
package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Sim serves simulated backends.
type Sim struct {
	clock  clock.Clock
	schema offer.Schema
	sites  func(providers.Backend) (Site, error)

	mu     sync.Mutex
	worlds map[string]*world
	sea    *sea
}

// New serves backends as their blocks describe them.
func New(c clock.Clock) *Sim { return NewOf(c, Schema(), SiteOf) }

// NewOf serves sites that the caller makes up, under a schema.
func NewOf(c clock.Clock, s offer.Schema, sites func(providers.Backend) (Site, error)) *Sim {
	return &Sim{clock: c, schema: s, sites: sites, worlds: map[string]*world{}, sea: newSea()}
}

var _ providers.Provider = (*Sim)(nil)

// Schema says what the backend block may hold.
func (s *Sim) Schema(context.Context) (offer.Schema, error) { return s.schema, nil }

// Configure takes a backend in. One that is known goes on as it was.
func (s *Sim) Configure(_ context.Context, b providers.Backend) error {
	site, err := s.sites(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worlds[b.Name] == nil {
		w := newWorld(site, b.MaxParallel)
		w.now, w.sea = s.clock.Now(), s.sea
		s.sea.join(w)
		w.remember()
		s.worlds[b.Name] = w
	}
	return nil
}

// ask is a backend's world, at the time it is; done lets others ask.
func (s *Sim) ask(backend string) (w *world, done func(), err error) {
	name, _ := providers.CutAt(backend)
	s.mu.Lock()
	w = s.worlds[name]
	if w == nil {
		s.mu.Unlock()
		return nil, nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", name)
	}
	w.advance(s.clock.Now())
	if w.away() {
		s.mu.Unlock()
		return nil, nil, providers.Errorf(providers.Unreachable, "%s is away, as its outage says", name)
	}
	return w, s.mu.Unlock, nil
}

// wait waits for news or for the time at which something is due.
func (s *Sim) wait(ctx context.Context, bell <-chan struct{}, next time.Time) error {
	var at <-chan time.Time
	if !next.IsZero() {
		c, stop := s.clock.Timer(max(next.Sub(s.clock.Now()), 0))
		defer stop()
		at = c
	}
	s.clock.Park(func() bool { return len(at) > 0 || over(bell) || over(ctx.Done()) })
	select {
	case <-at:
	case <-bell:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fenced refuses a holder that was overtaken.
func (w *world) fenced(n uint64, holder string) (err error) {
	w.fence, _, err = w.fence.Admit(n, holder)
	return err
}

// Pools are the pools as they stand.
func (s *Sim) Pools(_ context.Context, backend string) ([]offer.Pool, error) {
	w, done, err := s.ask(backend)
	if err != nil {
		return nil, err
	}
	defer done()
	out := make([]offer.Pool, len(w.site.Pools))
	for i, p := range w.site.Pools {
		out[i] = p.Pool
		switch at := w.pools[p.Name]; {
		case p.Devices > 0:
			out[i].Idle = max(at.devices, 0)
		case p.Cores > 0:
			out[i].Idle = max(at.cores, 0)
		}
	}
	return out, nil
}

// Quote says which shapes a pool takes. Its price is known, zero unless it is
// declared, but for an offer that states none.
func (s *Sim) Quote(_ context.Context, backend string, shapes []offer.Shape) ([]offer.Quote, error) {
	w, done, err := s.ask(backend)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []offer.Quote
	for _, p := range w.site.Pools {
		for i, shape := range shapes {
			q := offer.Quote{Backend: backend, Pool: p.Name, Shape: i, Price: p.Price, Wait: p.Wait, Boot: p.Boot}
			q.Why, q.Would = p.misfit(shape)
			q.Fits = q.Why == ""
			out = append(out, q)
		}
	}
	return out, nil
}

// misfit is why a pool does not take a shape, "" when it does, and a shape that would fit. A
// job over several nodes has its share on each.
func (p Pool) misfit(s offer.Shape) (why, would string) {
	nodes := max(s.Nodes, 1)
	switch {
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return fmt.Sprintf("it has %d nodes", p.MaxNodes), fmt.Sprintf("nodes = %d", p.MaxNodes)
	case p.GPUs == 0 && s.GPUs > 0:
		return "it has no GPUs", "choose a pool with GPUs"
	case s.GPUs > p.GPUs*nodes:
		return fmt.Sprintf("its nodes have %d GPUs", p.GPUs), fmt.Sprintf("gpus = %d", p.GPUs*nodes)
	case p.CPUs > 0 && s.CPUs > p.CPUs*nodes:
		return fmt.Sprintf("its nodes have %d cores", p.CPUs), fmt.Sprintf("cpus = %d", p.CPUs*nodes)
	case p.Memory > 0 && s.Memory > p.Memory*int64(nodes):
		return fmt.Sprintf("its nodes have %s of memory", units.FormatSize(p.Memory)), fmt.Sprintf("memory = %q", units.FormatSize(p.Memory*int64(nodes)))
	}
	return "", ""
}

// Preflight finds nothing wrong.
func (s *Sim) Preflight(_ context.Context, backend string, _ []providers.Check) ([]providers.Finding, error) {
	_, done, err := s.ask(backend)
	if err != nil {
		return nil, err
	}
	done()
	return nil, nil
}

// Submit takes jobs in.
func (s *Sim) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := w.fenced(r.Fence, r.Holder); err != nil {
		return nil, err
	}
	out := make([]providers.Submitted, len(r.Jobs))
	for i := range r.Jobs {
		out[i] = providers.Submitted{Token: r.Jobs[i].Token, Handle: handle(r.Jobs[i].Token), Err: w.submit(r.Jobs[i])}
	}
	w.fill()
	w.feed.ring() // a watch has something new to wait for
	return out, nil
}

// Find returns the known state of tokens.
func (s *Sim) Find(_ context.Context, backend string, tokens []string) ([]offer.Observation, error) {
	w, done, err := s.ask(backend)
	if err != nil {
		return nil, err
	}
	defer done()
	out := make([]offer.Observation, len(tokens))
	for i, t := range tokens {
		j := w.jobs[t]
		switch {
		case j == nil:
			out[i] = offer.Observation{Token: t, Presence: offer.Absent}
		case j.seen != nil && (j.decided || j.status == j.seen.Status):
			out[i] = *j.seen
		default:
			out[i] = offer.Observation{Token: t, Presence: offer.Found, Handle: handle(t), Status: j.status, Attempt: j.launch}
			if j.held && j.status == offer.Queued {
				out[i].Reason, out[i].Cause = "held", offer.JobHeld
			}
		}
	}
	return out, nil
}

// Cancel ends jobs at once.
func (s *Sim) Cancel(_ context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := w.fenced(r.Fence, r.Holder); err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(r.Tokens))
	for i, t := range r.Tokens {
		out[i] = providers.Outcome{ID: t, What: "cancelled"}
		switch j := w.jobs[t]; {
		case j == nil:
			out[i].What = "not found"
		case j.decided:
			out[i].What = "ended already"
		default:
			w.cancel(j)
		}
	}
	w.fill()
	return out, nil
}

// Control changes which jobs start.
func (s *Sim) Control(_ context.Context, r providers.ControlRequest) error {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return err
	}
	defer done()
	if err := w.fenced(r.Fence, r.Holder); err != nil {
		return err
	}
	if r.Hold != nil && len(r.Tokens) == 0 {
		w.hold = *r.Hold
	}
	for _, t := range r.Tokens {
		if j := w.jobs[t]; j != nil && r.Hold != nil {
			j.held = *r.Hold
		}
	}
	if r.Cap != nil {
		w.campaign = r.Cap
	}
	for phase, n := range r.Phases {
		w.caps[phase] = n
	}
	w.fill()
	return nil
}
