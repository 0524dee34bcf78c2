package freight

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
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
	from    *lang.Phase
	cell    int32
	output  string
	to      site.Spot
	b       *Berth // of to
	tries   int
	away    int // tries in a row that found one of its ends away
	awaited []arrival
	done    bool
	failed  error
}

type cargoKey struct {
	from   *lang.Phase
	cell   int32
	output string
	files  string
}

// An arrival is a group of an edge that waits for a cargo.
type arrival struct {
	ed *Edge
	k  *fed
}

// fetch sees that the files of a group are at a spot. It reports whether they
// are; if not, they are on their way.
func (fr *Freight) fetch(ed *Edge, g int32, k *fed) bool {
	if fr.Together() {
		k.here = true
		return true
	}
	if k.missing > 0 {
		return false
	}
	for _, m := range ed.In.Members(int(g)) {
		if fr.Lies(ed, int32(m), k.at) {
			continue
		}
		c := fr.cargoFor(ed, int32(m), k.b, k.at)
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

// Lies reports whether a producer's output was made where jobs at a spot see
// it. A copy from an earlier run counts only when it was looked at in this.
func (fr *Freight) Lies(ed *Edge, producer int32, at site.Spot) bool {
	rec := fr.State.Jobs[ed.In.From.Address(int(producer))]
	if rec == nil || rec.Status != state.Completed {
		return true // its job was handed over before, and is expected there
	}
	o := OutputNamed(rec, ed.In.Output)
	if o == nil {
		return true
	}
	for i, s := range fr.origins(rec, o) {
		if s.spot.Sees(at) && (i == 0 && s.b.Name == o.Backend || fr.Detached) {
			return true
		}
	}
	return false
}

// cargoFor is the one cargo of an output to a spot.
func (fr *Freight) cargoFor(ed *Edge, producer int32, b *Berth, to site.Spot) *cargo {
	key := cargoKey{ed.In.From, producer, ed.In.Output, to.Files()}
	c := fr.cargoes[key]
	if c == nil {
		c = &cargo{from: ed.In.From, cell: producer, output: ed.In.Output, to: to, b: b}
		fr.cargoes[key] = c
		fr.load(c)
	}
	return c
}

// load puts a cargo into its lane.
func (fr *Freight) load(c *cargo) {
	key := fr.originOf(c).spot.Files() + " → " + c.to.Files()
	l := fr.lanes[key]
	if l == nil {
		l = &lane{}
		fr.lanes[key] = l
	}
	l.waiting = append(l.waiting, c)
}

func (fr *Freight) originsOf(c *cargo) int {
	rec := fr.State.Jobs[c.from.Address(int(c.cell))]
	return len(fr.origins(rec, OutputNamed(rec, c.output)))
}

// originOf is where the next try reads a cargo from: one source after another.
func (fr *Freight) originOf(c *cargo) origin {
	rec := fr.State.Jobs[c.from.Address(int(c.cell))]
	if rec == nil {
		return origin{}
	}
	o := OutputNamed(rec, c.output)
	if o == nil {
		return origin{}
	}
	all := fr.origins(rec, o)
	if len(all) == 0 {
		return origin{}
	}
	return all[c.tries%len(all)]
}

// Ahead moves what a producer made to where a consumer is planned, before all
// that the consumer reads is there. Nothing is moved to a place that has not
// answered yet: when it has, the consumer has its files brought.
func (fr *Freight) Ahead(ed *Edge, producer int32, b *Berth, pool string) {
	if !b.known(pool) {
		return
	}
	if to := b.Spot(pool); !fr.Lies(ed, producer, to) {
		fr.cargoFor(ed, producer, b, to)
	}
}

// Release starts what the lanes have room for.
func (fr *Freight) Release() {
	for _, name := range slices.Sorted(maps.Keys(fr.lanes)) {
		l := fr.lanes[name]
		for l.busy < laneWidth && len(l.waiting) > 0 && !fr.Stopped() {
			c := l.waiting[0]
			l.waiting = l.waiting[1:]
			fr.transfer(l, c)
		}
	}
}

// Transferring reports whether files move, or will.
func (fr *Freight) Transferring() bool {
	for _, l := range fr.lanes {
		if l.busy > 0 || len(l.waiting) > 0 && !fr.Stopped() {
			return true
		}
	}
	return fr.delayed > 0 && !fr.Stopped()
}

// transfer moves one output and records the verified copy.
func (fr *Freight) transfer(l *lane, c *cargo) {
	address := c.from.Address(int(c.cell))
	src := fr.originOf(c)
	switch {
	case src.b == nil:
		fr.undeliverable(c, fmt.Errorf("the backend that has it is not in the campaign"))
		return
	case src.b.Provider == nil || c.b.Provider == nil:
		fr.loadAgain(c)
		return
	case src.away():
		src.b.Lost(errors.New("files that lie there are waited for"))
		fr.Ask(src.b)
		fr.loadAgain(c)
		return
	}
	out := *OutputNamed(fr.State.Jobs[address], c.output)
	kind := lang.File
	if d := sheet.OutputOf(c.from, c.output, -1); d != nil {
		kind = d.Kind
	}
	freight := haul.Freight{Output: out, From: src.path, Kind: kind, Fence: fr.Fence, Holder: fr.Holder, Aside: aside(out, c)}
	to := haul.End{Files: c.b.Provider, Backend: c.to.Name(), Workdir: c.to.Workdir}
	l.busy++
	began := fr.Now()
	if c.away == 0 {
		fr.Note(address, fmt.Sprintf("moving %s of %s from %s to %s", c.output, address, src.spot.Name(), c.to.Name()), false)
	}
	move := func() {
		copied, err := haul.Move(fr.Ctx, src.end(), to, freight)
		fr.Post(func() {
			l.busy--
			if err != nil {
				fr.transferFailed(c, address, src, err)
				return
			}
			seconds := 0.0
			if copied.Sent {
				seconds = fr.Now().Sub(began).Seconds()
			}
			fr.noteCopy(address, c, copied, seconds)
			fr.delivered(c)
		})
	}
	fare := Fare{c.from.Name, address, c.output, out.Digest, src.b.Name, src.pool, c.to.Files(), out.Size}
	if !fr.Billed(fare) {
		fr.Spawn(move)
		return
	}
	fr.Spawn(func() { // what lies there already leaves nowhere
		lies := haul.Lies(fr.Ctx, to, freight)
		fr.Post(func() {
			if !lies {
				if err := fr.Pay(fare); err != nil {
					l.busy--
					fr.undeliverable(c, err)
					return
				}
			}
			fr.Spawn(move)
		})
	})
}

// aside is where what lies in the way of a cargo goes.
func aside(out state.Output, c *cargo) string {
	return fmt.Sprintf(".muster/replaced/%s.%d.%s", c.from.Name, c.cell, out.Name)
}

// noteCopy records a verified copy, unless it is known, and how long moving it
// took.
func (fr *Freight) noteCopy(address string, c *cargo, copied haul.Copied, seconds float64) {
	out := *OutputNamed(fr.State.Jobs[address], c.output)
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
	out.Copies = append(kept, state.Copy{Backend: name, Path: copied.Path, Digest: out.Digest, At: fr.Now(), Seconds: max(seconds, 0), Stamp: copied.Stamp})
	fr.Emit(state.OutputsSeen{Address: address, Outputs: []state.Output{out}, At: fr.Now()})
}

// delivered tells who waits for a cargo that it is there.
func (fr *Freight) delivered(c *cargo) {
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
func (fr *Freight) transferFailed(c *cargo, address string, src origin, err error) {
	if fr.Ctx.Err() != nil {
		return
	}
	class := line.ClassOf(err)
	if c.away == 0 || class != providers.Unreachable {
		fr.Note(address, fmt.Sprintf("%s was not moved to %s: %v", address, c.to.Name(), err), true)
	}
	c.away++
	if class != providers.Unreachable {
		c.away = 0
		c.tries++
		if c.tries >= transferTries || class == providers.NotFound && c.tries >= fr.originsOf(c) {
			fr.undeliverable(c, err)
			return
		}
	}
	fr.loadAgain(c)
}

func (fr *Freight) loadAgain(c *cargo) {
	fr.delayed++
	fr.Later(line.Backoff(c.tries+c.away+3), func() { fr.delayed--; fr.load(c) })
}

// undeliverable holds what waits for a cargo that does not come.
func (fr *Freight) undeliverable(c *cargo, err error) {
	c.failed = err
	for _, a := range c.awaited {
		a.k.broken = c
		a.ed.unpark(a.k) // to be held, each with the reason
	}
	c.awaited = nil
}

// ForgetBroken lets cargoes that did not come be tried again.
func (fr *Freight) ForgetBroken() {
	for key, c := range fr.cargoes {
		if c.failed != nil {
			delete(fr.cargoes, key)
		}
	}
}

// ForgetBroken lets what did not come be asked for again.
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
