package lang

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Request is what like jobs ask of a backend.
type Request struct {
	Shape   offer.Shape                // Options empty here
	Options map[string]json.RawMessage // job options by provider type
	Hash    [16]byte                   // of resources, options and candidates
}

// Requests are the distinct requests of the phase; RequestOf is the index for
// a cell. The slice is shared.
func (p *Phase) Requests(v Variant) []Request { return p.job.form[v].requests }

// RequestOf is the index into Requests of a cell.
func (p *Phase) RequestOf(i int, v Variant) int {
	f := p.job.form[v]
	if f.requestOf == nil {
		return 0
	}
	return int(f.requestIDs[f.requestOf.Of(i)])
}

// requests tabulates the distinct requests of a phase.
func (l *loader) requests(p *phaseBuild, s *expr.Scope, f *form, v Variant) {
	columns, base, ok := l.columns(p, s)
	for _, c := range columns {
		f.asked = append(f.asked, c.t)
	}
	f.requests = []Request{base}
	b := requestTable{l: l, p: p, f: f, v: v, base: base}
	if !p.ok { // what reads no cell is looked at all the same
		for _, c := range columns {
			if len(c.t.Axes()) == 0 && len(c.expr.Variables()) == 0 {
				b.add(c)
			}
		}
		return
	}
	for _, c := range columns {
		ok = b.add(c) && ok
	}
	if ok {
		f.requests = nil
		b.fill()
	}
}

// A requestTable finds the distinct requests among all combinations.
type requestTable struct {
	l       *loader
	p       *phaseBuild
	f       *form
	v       Variant
	base    Request
	columns []*column // that differ between cells
}

// add evaluates a column. One that is the same everywhere goes into the base.
func (b *requestTable) add(c *column) bool {
	c.proj = b.p.Grid.Project(c.t.Axes())
	seen := map[string]int32{}
	c.ids = make([]int32, c.proj.Len())
	for k := range c.ids {
		cell := c.proj.First(k)
		v, ds := c.t.Value(cell)
		v, _ = v.UnmarkDeep()
		if ds.HasErrors() || !v.IsWhollyKnown() || v.IsNull() && !ds.HasErrors() && len(c.t.Axes()) == 0 {
			return !ds.HasErrors() // null: as if it were not written
		}
		key := string(value.JSON(v))
		id, ok := seen[key]
		if !ok {
			if err := b.check(c, v, cell); err != nil {
				return false
			}
			id = int32(len(c.vals))
			seen[key] = id
			c.vals = append(c.vals, v)
		}
		c.ids[k] = id
	}
	if len(c.vals) == 1 {
		return c.set(&b.base, c.vals[0]) == nil
	}
	b.columns = append(b.columns, c)
	return true
}

// check tells a value that is not what the column takes.
func (b *requestTable) check(c *column, v cty.Value, cell int) error {
	try := b.base.clone()
	err := c.set(&try, v)
	if err == nil {
		return nil
	}
	where := ""
	if len(c.t.Axes()) > 0 {
		where = fmt.Sprintf(" In the cell %s.", b.p.Key(cell))
	}
	b.l.Wrong(c.expr, c.name, "%s%s", wording.Sentence(err), where)
	return err
}

func (r Request) clone() Request {
	r.Options = maps.Clone(r.Options)
	return r
}

// fill makes the requests of all combinations of the axes read.
func (b *requestTable) fill() {
	var axes []int
	for _, c := range b.columns {
		axes = append(axes, c.t.Axes()...)
	}
	slices.Sort(axes)
	axes = slices.Compact(axes)
	if len(axes) == 0 {
		b.f.requests = []Request{b.finish(b.base.clone())}
		return
	}
	proj := b.p.Grid.Project(axes)
	b.f.requestOf, b.f.requestIDs = &proj, make([]int32, proj.Len())
	seen := map[string]int32{}
	var key []byte
	for k := range b.f.requestIDs {
		cell := proj.First(k)
		key = key[:0]
		for _, c := range b.columns {
			id := c.ids[c.proj.Of(cell)]
			key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
		}
		id, ok := seen[string(key)]
		if !ok {
			id = int32(len(b.f.requests))
			seen[string(key)] = id
			b.f.requests = append(b.f.requests, b.request(cell))
		}
		b.f.requestIDs[k] = id
	}
	if len(b.f.requests) == 0 { // a grid without cells
		b.f.requests = []Request{b.finish(b.base.clone())}
	}
}

func (b *requestTable) request(cell int) Request {
	r := b.base.clone()
	for _, c := range b.columns {
		if err := c.set(&r, c.vals[c.ids[c.proj.Of(cell)]]); err != nil {
			panic("muster: a checked resource does not convert: " + err.Error())
		}
	}
	return b.finish(r)
}

// finish adds what a smoke changes, and the hash.
func (b *requestTable) finish(r Request) Request {
	candidates := b.p.Candidates
	if b.v == SmokeRun {
		r.Shape.Smoke = true
		if w := b.p.Smoke.Walltime; w > 0 {
			r.Shape.Walltime = w
		}
		if len(b.p.Smoke.Candidates) > 0 {
			candidates = b.p.Smoke.Candidates
		}
	}
	s, places := r.Shape, candidates
	if len(b.p.Overflow) > 0 && b.v == Run {
		places = slices.Concat(candidates, b.p.Overflow)
		candidates = slices.Concat(candidates, []string{"overflow"}, b.p.Overflow)
	}
	r.Shape.Nodes = b.l.backends.Nodes(s, r.Options, b.p.job.All("options"), places) // the hash has them by its options
	sum := sha256.Sum256(value.Encode(struct {
		V                               int
		CPUs, Memory, GPUs, Disk, Nodes int64
		Walltime                        string
		Models                          []string
		GPUMemory                       int64
		Smoke                           bool
		Options                         map[string]json.RawMessage
		Candidates                      []string
	}{1, int64(s.CPUs), s.Memory, int64(s.GPUs), s.Disk, int64(s.Nodes), s.Walltime.String(), s.GPU.Models, s.GPU.Memory, s.Smoke, r.Options, candidates}))
	copy(r.Hash[:], sum[:])
	return r
}
