package lang

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// requests tabulates the distinct requests of a phase's runs or smokes.
func (cp *compiler) requests(p *phaseBuild, s *expr.Scope, f *form, v Variant) {
	b := requestBuilder{compiler: cp, p: p, scope: s, smoke: v.Smoke()}
	f.asked = b.table()
	p.Asks = f.asked.Asks
}

func (b *requestBuilder) table() requestTable {
	ok := b.read()
	for _, c := range b.written {
		b.t.Templates = append(b.t.Templates, c.t)
	}
	b.t.Distinct = []Request{b.base}
	if !b.p.ok { // templates that read no cell are checked all the same
		for _, c := range b.written {
			if len(c.t.Axes()) == 0 && len(c.expr.Variables()) == 0 {
				b.add(c)
			}
		}
		return b.t
	}
	for _, c := range b.written {
		ok = b.add(c) && ok
	}
	if ok {
		b.t.Distinct = nil
		b.fill()
	}
	return b.t
}

// A requestBuilder finds the distinct requests among all combinations.
type requestBuilder struct {
	*compiler
	p       *phaseBuild
	scope   *expr.Scope
	smoke   bool // the jobs are smokes
	t       requestTable
	base    Request          // the common part of all of them
	written []*requestColumn // as the job has them
	columns []*requestColumn // that differ between cells
}

// add evaluates a column. One that is the same everywhere goes into the base.
func (b *requestBuilder) add(c *requestColumn) bool {
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

// check reports a value that the column does not take.
func (b *requestBuilder) check(c *requestColumn, v cty.Value, cell int) error {
	try := b.base.clone()
	err := c.set(&try, v)
	if err == nil {
		return nil
	}
	where := ""
	if len(c.t.Axes()) > 0 {
		where = fmt.Sprintf(" In the cell %s.", b.p.Grid.Key(cell))
	}
	b.Wrong(c.expr, c.name, "%s%s", wording.Sentence(err), where)
	return err
}

// fill makes the requests of all combinations of the axes read.
func (b *requestBuilder) fill() {
	var axes []int
	for _, c := range b.columns {
		axes = append(axes, c.t.Axes()...)
	}
	slices.Sort(axes)
	axes = slices.Compact(axes)
	if len(axes) == 0 {
		b.t.Distinct = []Request{b.finish(b.base.clone())}
		return
	}
	proj := b.p.Grid.Project(axes)
	b.t.of, b.t.ids = &proj, make([]int32, proj.Len())
	seen := map[string]int32{}
	var key []byte
	for k := range b.t.ids {
		cell := proj.First(k)
		key = key[:0]
		for _, c := range b.columns {
			id := c.ids[c.proj.Of(cell)]
			key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
		}
		id, ok := seen[string(key)]
		if !ok {
			id = int32(len(b.t.Distinct))
			seen[string(key)] = id
			b.t.Distinct = append(b.t.Distinct, b.request(cell))
		}
		b.t.ids[k] = id
	}
	if len(b.t.Distinct) == 0 { // a grid without cells
		b.t.Distinct = []Request{b.finish(b.base.clone())}
	}
}

func (b *requestBuilder) request(cell int) Request {
	r := b.base.clone()
	for _, c := range b.columns {
		if err := c.set(&r, c.vals[c.ids[c.proj.Of(cell)]]); err != nil {
			panic("muster: a checked resource does not convert: " + err.Error())
		}
	}
	return b.finish(r)
}
