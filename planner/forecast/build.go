package forecast

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// A builder makes the nodes of a simulation at one quantile.
type builder struct {
	*sim
	in        *Input
	deal      deal           // of chance
	runs      map[string]int // phase → its run node
	offers    map[string]offer.Pool
	submit    map[string]*int64 // pool → jobs that may be submitted to it still
	slots     map[string]*int64 // of jobs with a limit of their own → those that may run still
	fleets    map[string]*fleet // pool → its rented machines
	transfers map[int]int       // of the input → its node
}

func build(in *Input, d deal) *sim {
	b := builder{sim: &sim{pools: map[string]*capacity{}, caps: map[string]*int64{}, last: nobody, submitAt: d.submitAt(in.SubmitDelay)}, in: in, deal: d, runs: map[string]int{}, offers: map[string]offer.Pool{}, submit: map[string]*int64{}, slots: map[string]*int64{}, fleets: map[string]*fleet{}, transfers: map[int]int{}}
	b.caps[""] = limit(in.CampaignCap)
	for name, n := range in.BackendCaps {
		if n > 0 {
			b.caps[name] = limit(n)
		}
	}
	ours := inFlight(in)
	for _, p := range in.Pools {
		key := poolKey(p.Backend, p.Name)
		c := poolCapacity(p, ours[key])
		b.pools[key], b.offers[key] = &c, p
		if in.Shared[p.Backend] {
			b.fleets[key] = &fleet{}
		}
		if n := takenAtOnce(p, in.Driven[p.Backend]); n > 0 {
			b.submit[key] = limit(n)
		}
	}
	for i := range in.Phases {
		b.addPhase(&in.Phases[i])
	}
	return b.sim
}

// inFlight sums the room that our own running jobs hold, by pool.
func inFlight(in *Input) map[string]int64 {
	out := map[string]int64{}
	at := map[string]offer.Pool{}
	for _, p := range in.Pools {
		at[poolKey(p.Backend, p.Name)] = p
	}
	eachGroup(*in, func(_ string, g Group, n int) {
		if g.InFlight {
			key := poolKey(g.Decision.Backend, g.Decision.Pool)
			out[key] += Held(at[key], g.Decision.Price.Given(g.Decision.Shape)) * int64(n)
		}
	})
	return out
}

// takenAtOnce is how many of our jobs a pool takes at a time, 0 = any number.
func takenAtOnce(p offer.Pool, driven bool) int {
	if p.MaxSubmit == 0 && driven {
		return p.MaxJobs
	}
	return p.MaxSubmit
}

// own are the limits of jobs that are not held to those of their pool. Those that
// have the same ones share them: they ask for the same qos or licenses.
func (b *builder) own(key string, d place.Decision) (slots, submit *int64) {
	shared := func(of map[string]*int64, what string, n int) *int64 {
		k := fmt.Sprint(key, "\x00", what, n)
		if of[k] == nil {
			of[k] = limit(n)
		}
		return of[k]
	}
	submit = b.submit[key]
	if d.Limits.MaxJobs > 0 {
		slots = shared(b.slots, "jobs", d.Limits.MaxJobs)
	}
	if p := d.Limits.On(b.offers[key]); d.Limits.MaxJobs != 0 || d.Limits.MaxSubmit != 0 {
		if submit = nil; takenAtOnce(p, b.in.Driven[d.Backend]) > 0 {
			submit = shared(b.submit, "submit", takenAtOnce(p, b.in.Driven[d.Backend]))
		}
	}
	return slots, submit
}

// most is the room that the jobs of a decision, and all with the same limit, may
// hold of a pool together, and the room that each holds.
func (b *builder) most(key string, d place.Decision) (*capacity, capacity) {
	p := d.Limits.On(b.offers[key])
	k := fmt.Sprint(key, "\x00most", p.Most)
	c := b.pools[k]
	if c == nil {
		m := most(p)
		c = &m
		b.pools[k] = c
	}
	h := c.counted(holding(p, d))
	c.atLeast(h)
	return c, h
}

func limit(n int) *int64 {
	v := int64(unlimited)
	if n > 0 {
		v = int64(n)
	}
	return &v
}

func poolKey(backend, pool string) string { return backend + "\x00" + pool }

// addPhase adds a phase's smokes and runs, the gates between them, and the
// edges from its producers.
func (b *builder) addPhase(p *Phase) {
	smoke := -1
	if len(p.Smoke) > 0 {
		smoke = b.smokeNode(p)
	}
	n := &node{phase: p.Name, of: p.Of, cap: limit(p.Cap)}
	groups := p.Groups
	if len(groups) == 0 {
		groups = []Group{{}}
	}
	b.transfer(p)
	run := b.add(n, groups)
	b.runs[p.Name] = run
	b.connect(p, run, nil)
	if smoke >= 0 {
		b.connect(p, smoke, toInt32(p.Smoke))
	}
	b.gate(p, smoke, run)
}

func (b *builder) smokeNode(p *Phase) int {
	n := &node{phase: p.Name, of: make([]uint16, len(p.Smoke)), cap: limit(1)}
	for i := range n.of {
		n.of[i] = 1
	}
	if p.Parallel {
		n.cap = limit(0)
	}
	return b.add(n, []Group{{}, p.SmokeJob})
}

func (b *builder) add(n *node, groups []Group) int {
	n.pending, n.cause = make([]int32, len(n.of)), make([]ref, len(n.of))
	groups = b.countWaitsOnce(groups)
	lines := map[lineKey]int{}
	at := make([]int, len(groups))
	cells := make([]int, len(groups))
	for _, g := range n.of {
		if g != Never {
			cells[g]++
		}
	}
	for i, g := range groups {
		if i > 0 {
			at[i] = b.line(n, g, lines)
			n.lines[at[i]].addTurns(g, cells[i])
		}
	}
	n.of, n.groups = b.deal.divide(n.phase, n.of, groups)
	for i := range n.groups {
		r := &n.groups[i]
		r.line, r.inFlight, r.expected = at[r.group], groups[r.group].InFlight, groups[r.group].Runtime.Expected
	}
	n.fresh = make([][]int32, len(n.groups))
	n.mixed = len(n.groups) > len(groups) && len(n.of) <= inOrder
	b.nodes = append(b.nodes, n)
	return len(b.nodes) - 1
}

// A lineKey is common to the jobs that start alike.
type lineKey struct {
	pool string
	need capacity
	most *capacity
	held capacity
	wait time.Duration
	// The limits of the jobs' own; nil for slots = none but the pool's.
	slots, submit *int64
	turns         string // the shape of those that take turns; "" = none do
}

// countWaitsOnce takes waits that the simulation counts itself out of the turns between jobs:
// where a pool takes a limited number of jobs at a time, the next job waits and boots while
// the place before it is empty.
func (b *builder) countWaitsOnce(groups []Group) []Group {
	out := groups
	for i := range groups {
		d := &groups[i].Decision
		if _, submit := b.own(poolKey(d.Backend, d.Pool), *d); groups[i].Turn <= 0 || submit == nil {
			continue
		}
		if &out[0] == &groups[0] {
			out = slices.Clone(groups)
		}
		out[i].Turn = max(groups[i].Turn-max(d.Wait, 0)-d.Boot, 0)
	}
	return out
}

// inOrder is up to how many cells of a phase start in the order of the grid
// however they are divided; of more, those of one class start together.
const inOrder = 20_000

// line is the line of a node to which a group belongs.
func (b *builder) line(n *node, g Group, lines map[lineKey]int) int {
	d := g.Decision
	key := lineKey{pool: poolKey(d.Backend, d.Pool), wait: g.queueWait()}
	pool := b.pools[key.pool]
	if pool == nil {
		pool = &capacity{unlimited, unlimited, unlimited, unlimited}
		b.pools[key.pool] = pool
	}
	key.need = pool.counted(need(b.offers[key.pool], d))
	if key.slots, key.submit = b.own(key.pool, d); d.Limits.MaxJobs != 0 {
		key.need.jobs = 0
	}
	if g.packed() && d.Shape.Turns() > 1 {
		key.turns = d.Shape.Key()
	}
	pool.atLeast(key.need)
	key.most, key.held = b.most(key.pool, d)
	at, ok := lines[key]
	if !ok {
		at = len(n.lines)
		lines[key] = at
		l := line{pool: pool, need: key.need, most: key.most, held: key.held, slots: key.slots, wait: key.wait, caps: []*int64{n.cap, b.caps[""]}, fleet: b.fleets[key.pool], boot: d.Boot, kept: d.Hold}
		if c := b.caps[d.Backend]; c != nil {
			l.caps = append(l.caps, c)
		}
		if key.submit != nil {
			l.caps = append(l.caps, key.submit)
		}
		n.lines = append(n.lines, l)
	}
	return at
}

// connect adds the edges of a phase's inputs and depends_on to one node, whose
// cells are those of the phase, or the given ones.
func (b *builder) connect(p *Phase, to int, cells []int32) {
	n := b.nodes[to]
	for k, in := range p.Inputs {
		from, ok := b.runs[in.From]
		if !ok && in.From != "" {
			continue
		}
		if ok {
			if e := newEdge(in.Join, to, cells, in.ending(b.nodes[from].of), n.pending, nil); e != nil {
				b.nodes[from].edges = append(b.nodes[from].edges, e)
			}
		}
		for _, leg := range p.legs(k) {
			at, ok := b.transfers[leg.Transfer]
			if !ok {
				continue
			}
			if e := newEdge(in.Join, to, cells, b.nodes[at].of, n.pending, p.readsHere(leg, to != b.runs[p.Name])); e != nil {
				b.nodes[at].edges = append(b.nodes[at].edges, e)
			}
		}
	}
	for _, name := range p.DependsOn {
		if from, ok := b.runs[name]; ok {
			b.barrier(from, working(b.nodes[from].of), nil, to, nil)
		}
	}
}

// gate shuts a phase behind its smokes, and then behind its pilots.
func (b *builder) gate(p *Phase, smoke, run int) {
	pilots := toInt32(p.Pilot)
	if smoke >= 0 {
		b.barrier(smoke, len(p.Smoke), nil, run, first(pilots))
	}
	if len(pilots) == 0 {
		return
	}
	only := map[int32]bool{}
	for _, c := range pilots {
		only[c] = true
	}
	rest := slices.DeleteFunc(allCells(len(p.Of)), func(c int32) bool { return only[c] })
	if len(rest) > 0 {
		b.barrier(run, len(pilots), only, run, rest)
	}
}

// first lists the cells that the smokes release: the pilots, or all (nil).
func first(pilots []int32) []int32 {
	if len(pilots) == 0 {
		return nil
	}
	return pilots
}

// barrier shuts cells of a node (nil: all) until as many of another, or of
// the given ones of it, have ended. With nothing to count it stays open.
func (b *builder) barrier(from, count int, only map[int32]bool, to int, release []int32) {
	if count == 0 {
		return
	}
	b.nodes[from].ends = append(b.nodes[from].ends, &barrier{left: count, only: only, target: to, release: release})
	pending := b.nodes[to].pending
	if release == nil {
		for c := range pending {
			pending[c]++
		}
	}
	for _, c := range release {
		pending[c]++
	}
}

// working counts the cells that have something to do.
func working(of []uint16) int {
	n := 0
	for _, g := range of {
		if g != 0 {
			n++
		}
	}
	return n
}

func allCells(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func toInt32(in []int) []int32 {
	out := make([]int32, len(in))
	for i, c := range in {
		out[i] = int32(c)
	}
	return out
}
