package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
)

type projection = grid.Projection

// Bounds of a table: small ones always pay, large ones when each entry serves
// several cells.
const (
	smallTable = 4096
	cellsEach  = 4       // cells that an entry of a large table serves at least
	largeTable = 1 << 20 // entries
)

// init decides between a table and evaluation for each cell.
func (b *table) init() {
	g := b.t.scope.grid()
	p := b.t.scope.project(b.axes)
	b.nodes = nodes(b.e)
	if p.Len() <= smallTable || p.Len() <= largeTable && p.Len() <= g.Len()/cellsEach {
		b.proj = p
		b.vals = make([]cty.Value, p.Len())
		b.failed = map[int]hcl.Diagnostics{}
	}
}

// value is the value for the frame's cell.
func (b *table) value(f *frame) (cty.Value, hcl.Diagnostics) {
	b.once.Do(b.init)
	if b.proj == nil || b.proj.Len() == 0 {
		f.meter.spend(b.nodes)
		return evalIn(f, b.e)
	}
	combo := b.proj.Of(f.cell)
	b.mu.Lock()
	v, ds := b.vals[combo], b.failed[combo]
	b.mu.Unlock()
	if v != cty.NilVal {
		return v, ds
	}
	f.meter.spend(b.nodes)
	v, ds = evalIn(f, b.e)
	b.mu.Lock()
	b.vals[combo] = v
	if len(ds) > 0 {
		b.failed[combo] = ds
	}
	b.mu.Unlock()
	return v, ds
}

// append appends the text for cell i. start is where the template's text
// begins in buf.
func (b *table) append(buf []byte, start, i int) []byte {
	b.once.Do(b.init)
	if b.proj == nil || b.proj.Len() == 0 {
		return appendText(buf, start, b.text(i))
	}
	b.texted.Do(func() {
		b.strings = make([]string, b.proj.Len())
		for c := range b.strings {
			b.strings[c] = b.text(b.proj.First(c))
		}
	})
	return appendText(buf, start, b.strings[b.proj.Of(i)])
}

// text evaluates and prints for one cell.
func (b *table) text(i int) string {
	f := b.t.scope.frame(i, nil)
	v, ds := b.value(f)
	b.t.scope.release(f)
	if ds.HasErrors() {
		return errorText
	}
	if b.json {
		return string(appendJSON(nil, v))
	}
	return valueText(v)
}

// errors evaluates every combination that has a cell, most of them, and tells
// the first few that fail. A value that no template can hold fails when whole
// does, the template around it; nil for none.
func (b *table) errors(most int, whole *table) (ds diag.List) {
	b.once.Do(b.init)
	n, cell := b.t.scope.grid().Len(), func(k int) int { return k }
	if b.proj != nil {
		n, cell = b.proj.Len(), b.proj.First
	}
	f := b.t.scope.frame(0, nil)
	defer b.t.scope.release(f)
	failed := 0
	for k := 0; k < min(n, most) && failed < maxErrors; k++ {
		f.cell, f.steps, f.bytes = cell(k), 0, 0
		v, hds := b.value(f)
		if whole != nil && !hds.HasErrors() && (v.IsNull() || !v.Type().IsPrimitiveType()) {
			_, hds = whole.value(f)
		}
		if hds.HasErrors() {
			failed++
		}
		ds.Append(b.t.explain(hds, f.cell)...)
	}
	return ds
}
