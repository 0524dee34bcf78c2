package apply

import (
	"context"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/reach"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	batchMax   = 500 // jobs of one Submit call
	reachBound = 6   // tries to hand over before jobs count as unknown
	secondLook = time.Minute
)

// A contact is one configured place in this run.
type contact struct {
	line.Place
	lines []*backend

	given   int // jobs that it has, on all its queues
	watched bool
	cursor  string // of what was folded
	durable string // of what is durable
	seen    int    // events since the watch was last acknowledged

	asking  bool      // what it has, now
	looking bool      // at its volumes, now
	looked  bool      // in this run
	roomAt  time.Time // when it is looked at them again
}

// A backend is one queue of a configured place, and what of ours is there:
// the place itself, or one of its hosts where each has a queue of its own.
type backend struct {
	*contact
	line.Feed
	line.Calls
	pool  string // "" for all
	ord   int
	berth *freight.Berth // the same, for files

	outbox []*flight // minted, to be submitted
	quiet  time.Time // nothing is submitted before; after an error
	tries  int
	silent int    // look-ups in a row that could not say of some job
	down   string // why it cannot be asked, "" when it can
	told   bool   // in this run, whether it may start jobs
	held   bool   // what it was told
	full   string // why nothing may start there until its volume has room
}

// title is how a backend is spoken of.
func (b *backend) title() string { return "backend." + providers.At(b.Name, b.pool) }

// at is the queue where jobs of a pool go; nil when the place is not in this
// run.
func (e *engine) at(name, pool string) *backend {
	c := e.contacts[name]
	if c == nil {
		return nil
	}
	if !c.Splits() {
		pool = ""
	}
	key := providers.At(name, pool)
	if b := e.backends[key]; b != nil {
		return b
	}
	b := &backend{contact: c, pool: pool, ord: len(e.backends)}
	b.berth = &freight.Berth{Place: &c.Place, Calls: &b.Calls, Title: b.title(),
		Lost: func(err error) { e.unreachable(b, err) }, Back: func() { e.reachable(b) }}
	e.backends[key] = b
	e.inOrder = append(e.inOrder, b)
	c.lines = append(c.lines, b)
	for _, p := range e.phases {
		p.queues = append(p.queues, cells.Queue{Length: p.length})
	}
	b.Slots = b.SlotsOf(pool)
	b.Begin(e)
	return b
}

// loadBackends configures every backend that the plan or a job in flight
// needs.
func (e *engine) loadBackends() error {
	for _, name := range e.reach().Needed() {
		if err := e.openBackend(name); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) reach() reach.Run {
	return reach.Run{Plan: e.Plan, Campaign: e.Campaign, State: e.st, Starts: e.halted == None}
}

// openSpares gets to know, beside the run, the approved candidates that the
// plan does not use: they take over where another one is away or refuses.
func (e *engine) openSpares() {
	if e.halted != None {
		return
	}
	for _, name := range e.reach().Spares() {
		if e.contacts[name] == nil {
			e.openSpare(name)
		}
	}
}

func (e *engine) openSpare(name string) {
	c := &contact{Place: line.Place{Name: name, Lang: e.backendOf(name)}}
	c.Conf = site.Backend(e.Campaign, c.Lang, e.st.Lineage)
	if c.Conf.Type == "local" {
		c.Conf.Environ = site.Environ(e.Environ)
	}
	e.contacts[name] = c
	e.at(name, "")
	e.opening++
	e.Spawn(func() {
		a, err := line.Probe(e.ctx, e.Provider, c.Conf)
		e.Post(func() {
			e.opening--
			if err == nil {
				e.greet(c, a)
				e.follow(c)
			}
		})
	})
}

func (e *engine) openBackend(name string) error {
	c := &contact{Place: line.Place{Name: name, Lang: e.backendOf(name)}}
	if c.Lang != nil {
		c.Conf = site.Backend(e.Campaign, c.Lang, e.st.Lineage)
	} else if err := c.Recall(e.st); err != nil {
		return err
	}
	e.contacts[name] = c
	if c.Conf.Type == "local" {
		c.Conf.Environ = site.Environ(e.Environ)
	}
	if err := e.configure(c); err != nil {
		e.unreachable(e.at(name, ""), err)
	}
	return nil
}

// configure readies a backend before the first turn.
func (e *engine) configure(b *contact) error {
	defer e.report.slow(e, "waiting for backend."+b.Name)()
	a, err := line.Probe(e.ctx, e.Provider, b.Conf)
	if err == nil {
		e.greet(b, a)
	}
	return err
}

func (e *engine) greet(c *contact, a line.Acquaintance) {
	c.Meet(a)
	e.freight.Met()
	for i := range a.Pools {
		e.at(c.Name, a.Pools[i].Name)
	}
	e.at(c.Name, "")
	for _, b := range c.lines {
		b.Slots = c.SlotsOf(b.pool)
	}
}

// room reports whether a backend takes one more job of a pool now.
func (e *engine) room(b *backend, pool string) bool {
	if b.Provider == nil || b.tries > 0 || e.Clock().Before(b.quiet) {
		return false
	}
	return b.Takes(&b.Place, pool, e.Mode == Drive, b.given)
}

// stuck counts what a hold or a breaker keeps in the queues of backends, and
// what is queued there to come after other jobs: it moves when they do.
func (e *engine) stuck() int {
	stopped := e.holds.Any()
	for _, p := range e.phases {
		stopped = stopped || p.breaker.Open
	}
	if !stopped {
		return 0
	}
	n := 0
	for _, f := range e.flights {
		if f.status != cells.Queued && f.status != cells.Waiting || !e.queues(f.b) {
			continue
		}
		if e.covers(f.p, f.cell) || f.p != nil && (f.p.breaker.Open || !f.smoke && f.p.Waits[f.cell] > 0) {
			n++
		}
	}
	return n
}

// unreachable notes that a backend cannot be asked. That says nothing about
// its jobs.
func (e *engine) unreachable(b *backend, err error) {
	if b.down == "" {
		e.report.note(e, b.title(), b.title()+" cannot be reached: "+err.Error(), true)
	}
	b.down = err.Error()
}

func (e *engine) reachable(b *backend) {
	if b.down != "" {
		b.down = ""
		if _, known := b.Pools[b.pool]; b.Splits() && b.pool != "" && !known {
			e.askPools(b.contact)
		}
		e.report.note(e, b.title(), b.title()+" answers again", false)
	}
}

// askPools asks a place anew what it has: a host of it is back.
func (e *engine) askPools(c *contact) {
	if c.asking {
		return
	}
	c.asking = true
	var pools []offer.Pool
	var err error
	c.lines[0].Call(func() {
		ctx, cancel := context.WithTimeout(e.ctx, line.AskTimeout)
		defer cancel()
		pools, err = c.Provider.Pools(ctx, c.Name)
	}, func() {
		c.asking = false
		if err == nil {
			e.greet(c, line.Acquaintance{Provider: c.Provider, Can: c.Can, Pools: pools})
			for _, b := range slices.Clone(c.lines) {
				if _, known := c.Pools[b.pool]; known {
					e.reachable(b)
				}
			}
		}
	})
}

func (e *engine) sending() bool {
	for _, b := range e.backends {
		if !b.Idle() || (len(b.outbox) > 0 && e.halted != LeaseLost && e.halted != StoreFailed && b.tries < reachBound) {
			return true
		}
	}
	return false
}

func (e *engine) outgoing() bool {
	for _, b := range e.backends {
		if len(b.outbox) > 0 || b.Queued() {
			return true
		}
	}
	return false
}
