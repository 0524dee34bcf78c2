package staging

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

const (
	transferTries = 5 // of a source that answers
	routeWidth    = 4 // transfers between two spots at once
)

// A route moves files from one spot to another, in order.
type route struct {
	waiting []func(*route) // each begins a move
	moving  map[*Progress]move
}

// A delivery is one producer's output that is needed at a spot. Many inputs may
// wait for it.
type delivery struct {
	from    *lang.Phase
	cell    int32
	output  string
	to      site.Filesystem
	b       *Endpoint // of to
	tries   int
	away    int // tries in a row that found one of its ends away
	awaited []deliveryWaiter
	done    bool
	failed  error
}

type deliveryKey struct {
	from   *lang.Phase
	cell   int32
	output string
	files  string
}

// A deliveryWaiter is a group of an edge that waits for a delivery.
type deliveryWaiter struct {
	ed *Edge
	k  *fed
}

// fetch sees that the files of a group are at a spot. It reports whether they
// are; if not, they are on their way.
func (ou *outputs) fetch(ed *Edge, g int32, k *fed) bool {
	if ou.Together() {
		k.here = true
		return true
	}
	if k.missing > 0 {
		return false
	}
	for _, m := range ed.Members(int(g)) {
		if ou.Present(ed, int32(m), k.at) {
			continue
		}
		c := ou.deliveryOf(ed, int32(m), k.b, k.at)
		switch {
		case c.done:
			continue
		case c.failed != nil:
			k.broken = c
			return false
		}
		c.awaited = append(c.awaited, deliveryWaiter{ed, k})
		k.missing++
	}
	k.here = k.missing == 0
	return k.here
}

// Present reports whether a producer's output was made where jobs at a spot see
// it. A copy from an earlier run counts only when it was looked at in this.
func (ou *outputs) Present(ed *Edge, producer int32, at site.Filesystem) bool {
	rec := ou.State.Jobs[ed.In.From.Address(int(producer))]
	if rec == nil || rec.Status != state.Completed {
		return true // its job was submitted before, and is expected there
	}
	o := OutputNamed(rec, ed.In.Output)
	if o == nil {
		return true
	}
	for i, s := range ou.origins(rec, o) {
		if s.spot.Sees(at) && (i == 0 && s.b.Name == o.Backend || ou.Detached) {
			return true
		}
	}
	return false
}

// deliveryOf is the one delivery of an output to a spot.
func (ou *outputs) deliveryOf(ed *Edge, producer int32, b *Endpoint, to site.Filesystem) *delivery {
	key := deliveryKey{ed.In.From, producer, ed.In.Output, to.Files()}
	c := ou.deliveries[key]
	if c == nil {
		c = &delivery{from: ed.In.From, cell: producer, output: ed.In.Output, to: to, b: b}
		ou.deliveries[key] = c
		ou.enqueue(c)
	}
	return c
}

// enqueue puts a delivery into its route.
func (ou *outputs) enqueue(c *delivery) {
	ou.queue(ou.originOf(c).spot, c.to, func(l *route) { ou.transfer(l, c) })
}

func (ou *outputs) originsOf(c *delivery) int {
	rec := ou.State.Jobs[c.from.Address(int(c.cell))]
	return len(ou.origins(rec, OutputNamed(rec, c.output)))
}

// originOf is where the next try reads a delivery from: one source after another.
func (ou *outputs) originOf(c *delivery) origin {
	rec := ou.State.Jobs[c.from.Address(int(c.cell))]
	if rec == nil {
		return origin{}
	}
	o := OutputNamed(rec, c.output)
	if o == nil {
		return origin{}
	}
	all := ou.origins(rec, o)
	if len(all) == 0 {
		return origin{}
	}
	return all[c.tries%len(all)]
}

// Ahead moves a producer's outputs to where a consumer is planned, before all
// of the consumer's inputs exist. Nothing is moved to a place that has not
// answered yet: when it has, the consumer has its files brought.
func (ou *outputs) Ahead(ed *Edge, producer int32, b *Endpoint, pool string) {
	if !b.known(pool) {
		return
	}
	if to := b.Filesystem(pool); !ou.Present(ed, producer, to) {
		ou.deliveryOf(ed, producer, b, to)
	}
}

// Release starts the transfers for which the routes have room.
func (ts *Transfers) Release() {
	for _, name := range slices.Sorted(maps.Keys(ts.routes)) {
		l := ts.routes[name]
		for len(l.moving) < routeWidth && len(l.waiting) > 0 && !ts.Stopped() {
			begin := l.waiting[0]
			l.waiting = l.waiting[1:]
			begin(l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ts.readers)) {
		if rd := ts.readers[name]; rd.busy == nil && len(rd.waiting) > 0 && !ts.Stopped() {
			ts.readings.read(rd)
		}
	}
}

// transfer moves one output and records the verified copy.
func (ou *outputs) transfer(l *route, c *delivery) {
	address := c.from.Address(int(c.cell))
	src := ou.originOf(c)
	switch {
	case src.b == nil:
		ou.undeliverable(c, fmt.Errorf("the backend that has it is not in the campaign"))
		return
	case src.b.Provider == nil || c.b.Provider == nil:
		ou.enqueueLater(c)
		return
	case src.away():
		ou.Backends.Lost(src.b, errors.New("jobs wait for files there"))
		ou.Backends.Ask(src.b)
		ou.enqueueLater(c)
		return
	}
	out := *OutputNamed(ou.State.Jobs[address], c.output)
	kind := lang.File
	if d := jobspec.OutputOf(c.from, c.output, -1); d != nil {
		kind = d.Kind
	}
	load := Load{Output: out, From: src.path, Kind: kind, Fence: ou.Fence, Holder: ou.Holder, Aside: aside(out, c)}
	to := Side{Files: c.b.Provider, Backend: c.to.Name(), Workdir: c.to.Workdir}
	began := ou.Time.Now()
	m := move{address, fmt.Sprintf("moving %s of %s", c.output, address), fmt.Sprintf("from %s to %s", src.spot.Name(), c.to.Name())}
	if c.away == 0 {
		ou.Note(address, m.text(), false)
	}
	load.Progress = ou.watch(out.Size, m, src.b, c.b)
	l.moving[load.Progress] = m
	move := func() {
		copied, err := Move(ou.Ctx, src.end(), to, load)
		ou.Post(func() {
			delete(l.moving, load.Progress)
			if err != nil {
				ou.transferFailed(c, address, src, err)
				return
			}
			ou.answered(src.b, c.b)
			seconds := 0.0
			if copied.Sent {
				seconds = ou.Time.Now().Sub(began).Seconds()
			}
			ou.noteCopy(address, c, copied, seconds)
			ou.delivered(c)
		})
	}
	charge := Charge{c.from.Name, address, c.output, out.Digest, src.b.Name, src.pool, c.to.Files(), out.Size}
	ou.covered(charge, to, load, move, func(err error) {
		delete(l.moving, load.Progress)
		ou.undeliverable(c, err)
	})
}

// aside is the place for files in the way of a delivery.
func aside(out state.Output, c *delivery) string {
	return fmt.Sprintf(".muster/replaced/%s.%d.%s", c.from.Name, c.cell, out.Name)
}

// noteCopy records a verified copy, unless it is known, and how long moving it
// took.
func (ou *outputs) noteCopy(address string, c *delivery, copied Copied, seconds float64) {
	out := *OutputNamed(ou.State.Jobs[address], c.output)
	name := c.to.Name()
	kept := make([]state.Copy, 0, len(out.Copies)+1)
	for _, o := range out.Copies {
		if o.Backend == name && o.Path == copied.Path && o.Digest == out.Digest && o.Stamp == copied.Stamp {
			return
		}
		if o.Backend != name {
			kept = append(kept, o)
		} else if o.Path == copied.Path && o.Digest == out.Digest {
			seconds = max(seconds, o.Seconds) // it was touched, and not moved again
		}
	}
	out.Copies = append(kept, state.Copy{Backend: name, Path: copied.Path, Digest: out.Digest, At: ou.Time.Now(), Seconds: max(seconds, 0), Stamp: copied.Stamp})
	ou.Emit(state.OutputsSeen{Address: address, Outputs: []state.Output{out}, At: ou.Time.Now()})
}

// delivered tells who waits for a delivery that it is there.
func (ou *outputs) delivered(c *delivery) {
	c.done = true
	for _, a := range c.awaited {
		if a.k.missing--; a.k.missing == 0 {
			a.k.here = true
			a.ed.unpark(a.k)
		}
	}
	c.awaited = nil
}

// transferFailed tries again: for ever while a backend cannot be reached,
// which is said once, else a number of times, from one source after another.
func (ou *outputs) transferFailed(c *delivery, address string, src origin, err error) {
	if ou.Ctx.Err() != nil {
		return
	}
	class := connection.ClassOf(err)
	if c.away == 0 || class != providers.Unreachable {
		ou.Note(address, fmt.Sprintf("%s was not moved to %s: %v", address, c.to.Name(), err), true)
	}
	c.away++
	if class != providers.Unreachable {
		c.away = 0
		c.tries++
		if c.tries >= transferTries || class == providers.NotFound && c.tries >= ou.originsOf(c) {
			ou.undeliverable(c, err)
			return
		}
	}
	ou.enqueueLater(c)
}

func (ou *outputs) enqueueLater(c *delivery) {
	ou.delayed++
	ou.Later(connection.Backoff(c.tries+c.away+3), func() { ou.delayed--; ou.enqueue(c) })
}

// undeliverable holds the cells that wait for a delivery which does not come.
func (ou *outputs) undeliverable(c *delivery, err error) {
	c.failed = err
	for _, a := range c.awaited {
		a.k.broken = c
		a.ed.unpark(a.k) // to be held, each with the reason
	}
	c.awaited = nil
}

// ForgetBroken lets deliveries that did not come be tried again.
func (ts *Transfers) ForgetBroken() {
	for key, c := range ts.outputs.deliveries {
		if c.failed != nil {
			delete(ts.outputs.deliveries, key)
		}
	}
	for key, c := range ts.stores.fileCopies {
		if c.failed != nil {
			delete(ts.stores.fileCopies, key)
		}
	}
	for key, r := range ts.readings.readings {
		if r.failed != nil {
			delete(ts.readings.readings, key)
		}
	}
}

// ForgetBroken lets failed files be asked for again.
func (ed *Edge) ForgetBroken() {
	for key, k := range ed.facts {
		if k.broken != nil {
			delete(ed.facts, key)
		}
	}
}

// undelivered is why a group that did not come holds its consumers.
func (k *fed) undelivered(ed *Edge) string {
	c := k.broken
	return fmt.Sprintf("its input %s, %s of %s, could not be moved to %s: %v", ed.In.Name, c.output, c.from.Address(int(c.cell)), c.to.Name(), c.failed)
}
