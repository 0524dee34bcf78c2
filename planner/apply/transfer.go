package apply

import (
	"fmt"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

const (
	transferTries = 5 // of a source that answers
	laneWidth     = 4 // transfers between two spots at once
)

// A lane moves files from one spot to another, in order.
type lane struct {
	waiting []*cargo
	busy    int
}

// A cargo is one producer's output that is needed at a spot. Many inputs may
// wait for it.
type cargo struct {
	from    *phase
	cell    int32
	output  string
	to      site.Spot
	b       *backend // of to
	tries   int
	awaited []arrival
	done    bool
	failed  error
}

type cargoKey struct {
	from   *phase
	cell   int32
	output string
	files  string
}

// An arrival is a group of an edge that waits for a cargo.
type arrival struct {
	ed *edge
	k  *fed
}

// fetch sees that the files of a group are at a spot. It reports whether they
// are; if not, they are on their way.
func (e *engine) fetch(ed *edge, g int32, k *fed) bool {
	if e.together() {
		k.here = true
		return true
	}
	if k.missing > 0 {
		return false
	}
	for _, m := range ed.In.Members(int(g)) {
		if e.lies(ed, int32(m), k.at) {
			continue
		}
		c := e.cargoFor(ed, int32(m), k.b, k.at)
		switch {
		case c.done:
			continue
		case c.failed != nil:
			k.broken = c
			return false
		}
		c.awaited = append(c.awaited, arrival{ed, k})
		k.missing++
	}
	k.here = k.missing == 0
	return k.here
}

// lies reports whether a producer's output was made where jobs at a spot see
// it. A copy from an earlier run counts only when it was looked at in this.
func (e *engine) lies(ed *edge, producer int32, at site.Spot) bool {
	rec := e.st.Jobs[ed.from.Address(int(producer))]
	if rec == nil || rec.Status != state.Completed {
		return true // its job was handed over before, and is expected there
	}
	o := outputNamed(rec, ed.In.Output)
	if o == nil {
		return true
	}
	for i, s := range e.origins(rec, o) {
		if s.spot.Sees(at) && (i == 0 && s.b.Name == o.Backend || e.Mode == Detach) {
			return true
		}
	}
	return false
}

// cargoFor is the one cargo of an output to a spot.
func (e *engine) cargoFor(ed *edge, producer int32, b *backend, to site.Spot) *cargo {
	key := cargoKey{ed.from, producer, ed.In.Output, to.Files()}
	c := e.cargoes[key]
	if c == nil {
		c = &cargo{from: ed.from, cell: producer, output: ed.In.Output, to: to, b: b}
		e.cargoes[key] = c
		e.load(c)
	}
	return c
}

// load puts a cargo into its lane.
func (e *engine) load(c *cargo) {
	key := e.originOf(c).spot.Files() + " → " + c.to.Files()
	l := e.lanes[key]
	if l == nil {
		l = &lane{}
		e.lanes[key] = l
	}
	l.waiting = append(l.waiting, c)
}

func (e *engine) originsOf(c *cargo) int {
	rec := e.st.Jobs[c.from.Address(int(c.cell))]
	return len(e.origins(rec, outputNamed(rec, c.output)))
}

// originOf is where the next try reads a cargo from: one source after another.
func (e *engine) originOf(c *cargo) origin {
	rec := e.st.Jobs[c.from.Address(int(c.cell))]
	if rec == nil {
		return origin{}
	}
	o := outputNamed(rec, c.output)
	if o == nil {
		return origin{}
	}
	all := e.origins(rec, o)
	if len(all) == 0 {
		return origin{}
	}
	return all[c.tries%len(all)]
}

// carryAhead moves what a producer made to where its consumers are planned,
// before all their inputs are there.
func (e *engine) carryAhead(ed *edge, producer int32) {
	g := ed.Group[producer]
	if g < 0 || e.Mode == Detach {
		return
	}
	for _, c := range ed.Consumers(int(g)) {
		if s := ed.to.At[c]; s != cells.Pending && s != cells.Ready {
			continue
		}
		d := ed.to.decision(c)
		if d == nil {
			continue
		}
		if to, ok := e.goesTo(d); ok && !e.lies(ed, producer, to) {
			e.cargoFor(ed, producer, e.at(d.Backend, d.Pool), to)
		}
	}
}

// loadTransfers begins with what was made before this run.
func (e *engine) loadTransfers() {
	if e.together() {
		return
	}
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for m := range int32(len(ed.from.At)) {
				if ed.from.At[m].Satisfied() {
					e.carryAhead(ed, m)
				}
			}
		}
	}
}

// releaseTransfers starts what the lanes have room for.
func (e *engine) releaseTransfers() {
	for _, name := range sortedKeys(e.lanes) {
		l := e.lanes[name]
		for l.busy < laneWidth && len(l.waiting) > 0 && e.halted == None {
			c := l.waiting[0]
			l.waiting = l.waiting[1:]
			e.transfer(l, c)
		}
	}
}

func (e *engine) transferring() bool {
	for _, l := range e.lanes {
		if l.busy > 0 || len(l.waiting) > 0 && e.halted == None {
			return true
		}
	}
	return e.delayed > 0 && e.halted == None
}

// transfer moves one output and records the verified copy.
func (e *engine) transfer(l *lane, c *cargo) {
	address := c.from.Address(int(c.cell))
	src := e.originOf(c)
	switch {
	case src.b == nil:
		e.undeliverable(c, fmt.Errorf("the backend that has it is not in the campaign"))
		return
	case src.b.Provider == nil || c.b.Provider == nil:
		e.loadAgain(c)
		return
	}
	out := *outputNamed(e.st.Jobs[address], c.output)
	kind := lang.File
	if d := sheet.OutputOf(c.from.Phase, c.output, -1); d != nil {
		kind = d.Kind
	}
	freight := haul.Freight{Output: out, From: src.path, Kind: kind, Fence: e.Session.Fence(), Aside: aside(out, c)}
	to := haul.End{Files: c.b.Provider, Backend: c.to.Name(), Workdir: c.to.Workdir}
	l.busy++
	e.report.note(e, address, fmt.Sprintf("moving %s of %s from %s to %s", c.output, address, src.spot.Name(), c.to.Name()), false)
	e.Spawn(func() {
		copied, err := haul.Move(e.ctx, src.end(), to, freight)
		e.Post(func() {
			l.busy--
			if err != nil {
				e.transferFailed(c, address, src, err)
				return
			}
			e.noteCopy(address, c, copied)
			e.delivered(c)
		})
	})
}

// aside is where what lies in the way of a cargo goes.
func aside(out state.Output, c *cargo) string {
	return fmt.Sprintf(".muster/replaced/%s.%d.%s", c.from.Name, c.cell, out.Name)
}

// noteCopy records a verified copy, unless it is known.
func (e *engine) noteCopy(address string, c *cargo, path string) {
	out := *outputNamed(e.st.Jobs[address], c.output)
	name := c.to.Name()
	kept := make([]state.Copy, 0, len(out.Copies)+1)
	for _, o := range out.Copies {
		if o.Backend == name && o.Path == path && o.Digest == out.Digest {
			return
		}
		if o.Backend != name {
			kept = append(kept, o)
		}
	}
	out.Copies = append(kept, state.Copy{Backend: name, Path: path, Digest: out.Digest, At: e.Clock()})
	e.emit(state.OutputsSeen{Address: address, Outputs: []state.Output{out}, At: e.Clock()})
}

// delivered tells who waits for a cargo that it is there.
func (e *engine) delivered(c *cargo) {
	c.done = true
	for _, a := range c.awaited {
		if a.k.missing--; a.k.missing == 0 {
			a.k.here = true
			e.unpark(a.ed.to, a.k)
		}
	}
	c.awaited = nil
}

// transferFailed tries again: for ever while a backend cannot be reached,
// else a number of times, from one source after another.
func (e *engine) transferFailed(c *cargo, address string, src origin, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.report.note(e, address, fmt.Sprintf("%s was not moved to %s: %v", address, c.to.Name(), err), true)
	if class := line.ClassOf(err); class != providers.Unreachable {
		c.tries++
		if c.tries >= transferTries || class == providers.NotFound && c.tries >= e.originsOf(c) {
			e.undeliverable(c, err)
			return
		}
	}
	e.loadAgain(c)
}

func (e *engine) loadAgain(c *cargo) {
	e.delayed++
	e.later(line.Backoff(c.tries+3), func() { e.delayed--; e.load(c) })
}

// undeliverable holds what waits for a cargo that does not come.
func (e *engine) undeliverable(c *cargo, err error) {
	c.failed = err
	for _, a := range c.awaited {
		a.k.broken = c
		e.unpark(a.ed.to, a.k) // to be held, each with the reason
	}
	c.awaited = nil
}

// forgetBroken lets cargoes that did not come be tried again.
func (e *engine) forgetBroken() {
	for key, c := range e.cargoes {
		if c.failed != nil {
			delete(e.cargoes, key)
		}
	}
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for key, k := range ed.facts {
				if k.broken != nil {
					delete(ed.facts, key)
				}
			}
		}
	}
}

// undelivered is why a group that did not come holds its consumers.
func (k *fed) undelivered(ed *edge) string {
	c := k.broken
	return fmt.Sprintf("its input %s, %s of %s, could not be moved to %s: %v", ed.In.Name, c.output, c.from.Address(int(c.cell)), c.to.Name(), c.failed)
}
