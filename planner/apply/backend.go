package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	batchMax    = 500                    // jobs of one Submit call
	askTimeout  = 20 * time.Second       // for what a backend should answer at once
	feedWindow  = 150 * time.Millisecond // of work kept ahead of slots that empty fast
	backoffMin  = 200 * time.Millisecond // before a backend that failed is asked again
	backoffMax  = 30 * time.Second
	reachBound  = 6 // tries to hand over before jobs count as unknown
	secondLook  = time.Minute
	ackInterval = 4096 // events after which a watch is told what is durable
)

// A backend is one configured place and what of ours is there.
type backend struct {
	lang  *lang.Backend // nil when it left the campaign
	name  string
	ord   int
	conf  providers.Backend
	p     providers.Provider
	can   offer.Capabilities
	env   []providers.EnvVar
	slots int // jobs it runs at once; 0 = unknown
	pools map[string]offer.Pool

	inflight int
	byPool   map[string]int
	window   time.Time // of the feed's measure
	ended    int       // in this window
	rate     int       // jobs that ended in the last whole window

	work   chan func() // to its sender
	busy   bool
	calls  []func()  // waiting for the sender, in order
	outbox []*flight // minted, to be submitted
	quiet  time.Time // nothing is submitted before; after an error
	tries  int

	watched bool
	cursor  string // of what was folded
	durable string // of what is durable
	seen    int    // events since the watch was last acknowledged
	down    string // why it cannot be asked, "" when it can
	told    bool   // in this run, whether it may start jobs
	held    bool   // what it was told
}

// loadBackends configures every backend that the plan or a job in flight
// needs.
func (e *engine) loadBackends() error {
	need := map[string]bool{}
	for _, p := range e.phases {
		if e.halted != None {
			break // nothing is started: only what is in flight matters
		}
		for i := range p.plan.Placements {
			if d := &p.plan.Placements[i]; i > 0 && d.Backend != "" {
				need[d.Backend] = true
			}
		}
		if g := p.plan.Smoke; g != nil && g.Place.Backend != "" {
			need[g.Place.Backend] = true
		}
	}
	for _, j := range e.st.InFlight() {
		if a := j.Last(); a != nil {
			need[a.Backend] = true
		}
	}
	if len(e.st.Breakers)+len(e.st.Holds) > 0 { // a queue that was told to stop must hear of a resume
		for _, j := range e.st.Jobs {
			if a := j.Last(); a != nil && e.backendOf(a.Backend) != nil {
				need[a.Backend] = true
			}
		}
	}
	for _, t := range e.Plan.Transfers {
		need[t.From], need[t.To] = true, true
	}
	for _, d := range e.Plan.Deletions {
		need[d.Backend] = true
	}
	for _, r := range e.Plan.Loose {
		if r.Release {
			need[r.Backend] = true
		}
	}
	for _, name := range sortedKeys(need) {
		if err := e.openBackend(name); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) openBackend(name string) error {
	b := &backend{name: name, lang: e.backendOf(name), ord: len(e.backends), byPool: map[string]int{}, work: make(chan func())}
	if b.lang != nil {
		b.conf = site.Backend(e.Campaign, b.lang, e.st.Lineage)
	} else if err := e.recall(b); err != nil {
		return err
	}
	e.backends[name] = b
	for _, p := range e.phases {
		p.queues = append(p.queues, queue{})
	}
	if b.conf.Type == "local" {
		b.conf.Environ = site.Environ(e.Environ)
	}
	if err := e.configure(b); err != nil {
		e.unreachable(b, err)
	}
	e.spawn(func() { e.sender(b) })
	return nil
}

// recall takes a backend that left the campaign from the state.
func (e *engine) recall(b *backend) error {
	kept, ok := e.st.Backends[b.name]
	if !ok {
		return fmt.Errorf("backend.%s is in neither the campaign nor the state, but the plan names it", b.name)
	}
	if err := json.Unmarshal(kept.Config, &b.conf); err != nil {
		return fmt.Errorf("read backend.%s from the state: %w", b.name, err)
	}
	b.conf.Name, b.conf.Type, b.conf.Lineage = b.name, kept.Type, e.st.Lineage
	b.lang = &lang.Backend{Type: kept.Type, Workdir: b.conf.Workdir, Setup: b.conf.Setup, Env: b.conf.Env, Config: b.conf.Config}
	return nil
}

// configure readies a backend before the first turn.
func (e *engine) configure(b *backend) error {
	defer e.report.slow(e, "waiting for backend."+b.name)()
	a, err := e.probe(e.ctx, b.conf)
	if err == nil {
		e.greet(b, a)
	}
	return err
}

// An acquaintance is what a backend says of itself.
type acquaintance struct {
	p     providers.Provider
	can   offer.Capabilities
	pools []offer.Pool
}

// probe asks a backend for its schema and pools. It may run anywhere.
func (e *engine) probe(ctx context.Context, conf providers.Backend) (a acquaintance, err error) {
	if a.p, err = e.Provider(conf.Type); err != nil {
		return a, err
	}
	ctx, cancel := contextWithTimeout(ctx, askTimeout)
	defer cancel()
	schema, err := a.p.Schema(ctx)
	if err != nil {
		return a, err
	}
	a.can = schema.Can
	if err := a.p.Configure(ctx, conf); err != nil {
		return a, err
	}
	a.pools, err = a.p.Pools(ctx, conf.Name)
	return a, err
}

func (e *engine) greet(b *backend, a acquaintance) {
	b.p, b.can = a.p, a.can
	b.env = site.Env(b.lang)
	b.measure(a.pools)
}

// measure derives how much a backend takes.
func (b *backend) measure(pools []offer.Pool) {
	b.pools, b.slots = map[string]offer.Pool{}, 0
	for _, p := range pools {
		b.pools[p.Name] = p
		n := p.MaxJobs
		if n == 0 {
			n = p.Total
		}
		b.slots += n
	}
	if b.slots == 0 {
		b.slots = runtime.NumCPU()
	}
	if cap := b.conf.MaxParallel; cap > 0 && cap < b.slots {
		b.slots = cap
	}
}

// room reports whether a backend takes one more job of a pool now.
func (e *engine) room(b *backend, pool string) bool {
	if b.p == nil || b.tries > 0 || e.Clock().Before(b.quiet) {
		return false
	}
	if e.Mode == Drive && b.can.FeedSlots > 0 && b.inflight >= max(b.can.FeedSlots*b.slots, b.slots+b.rate) {
		return false
	}
	if limit := b.pools[pool].MaxSubmit; limit > 0 && b.byPool[pool] >= limit {
		return false
	}
	if b.can.HostQueue {
		return true // its queue keeps the other caps
	}
	if limit := b.pools[pool].MaxJobs; limit > 0 && b.pools[pool].MaxSubmit == 0 && !b.can.Arrays && b.byPool[pool] >= limit {
		return false
	}
	return b.conf.MaxParallel <= 0 || b.inflight < b.conf.MaxParallel
}

// pulse measures how fast slots empty, so that the feed is deep enough for
// jobs that are over before an answer could travel.
func (b *backend) pulse(now time.Time) {
	if now.Sub(b.window) >= feedWindow {
		if now.Sub(b.window) < 2*feedWindow {
			b.rate = b.ended
		} else {
			b.rate = 0
		}
		b.window, b.ended = now, 0
	}
	b.ended++
}

// stuck counts what a hold or a breaker keeps in the queues of backends.
func (e *engine) stuck() int {
	stopped := e.holds.any()
	for _, p := range e.phases {
		stopped = stopped || p.breaker.open
	}
	if !stopped {
		return 0
	}
	n := 0
	for _, f := range e.flights {
		if (f.status == queued || f.status == waiting) && e.queues(f.b) && (e.holds.covers(f.p, f.cell) || f.p != nil && f.p.breaker.open) {
			n++
		}
	}
	return n
}

// unreachable notes that a backend cannot be asked. That says nothing about
// its jobs.
func (e *engine) unreachable(b *backend, err error) {
	if b.down == "" {
		e.report.note(e, "backend."+b.name, "backend."+b.name+" cannot be reached: "+err.Error(), true)
	}
	b.down = err.Error()
}

func (e *engine) reachable(b *backend) {
	if b.down != "" {
		b.down = ""
		e.report.note(e, "backend."+b.name, "backend."+b.name+" answers again", false)
	}
}

// sender makes the calls of one backend, one after another.
func (e *engine) sender(b *backend) {
	for {
		select {
		case f := <-b.work:
			f()
		case <-e.ctx.Done():
			return
		}
	}
}

// call queues a call to a backend; then runs in the loop when it is over.
func (e *engine) call(b *backend, do func(), then func()) {
	f := func() {
		do()
		e.post(func() {
			b.busy = false
			then()
			e.pump(b)
		})
	}
	b.calls = append(b.calls, f)
	e.pump(b)
}

// pump starts the next call if the sender is free.
func (e *engine) pump(b *backend) {
	if b.busy || len(b.calls) == 0 {
		return
	}
	f := b.calls[0]
	b.calls = b.calls[1:]
	b.busy = true
	select {
	case b.work <- f:
	case <-e.ctx.Done():
	}
}

func (e *engine) sending() bool {
	for _, b := range e.backends {
		if b.busy || len(b.calls) > 0 || (len(b.outbox) > 0 && e.halted != LeaseLost && e.halted != StoreFailed && b.tries < reachBound) {
			return true
		}
	}
	return false
}

func (e *engine) outgoing() bool {
	for _, b := range e.backends {
		if len(b.outbox) > 0 || len(b.calls) > 0 {
			return true
		}
	}
	return false
}
