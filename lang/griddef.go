package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A sharedGrid is a top-level grid block, expanded once.
type sharedGrid struct {
	b    *block
	g    *grid.Grid
	ok   bool // expanded without errors
	full bool // all its values are known
}

func (l *loader) sharedGrids() {
	for _, b := range l.top.all("grid") {
		s := &sharedGrid{b: b}
		s.g, s.ok, s.full = l.grid(b, "grid."+b.name())
		l.grids[b.name()] = s
	}
}

// phaseGrid is the grid of a phase: inline, by reference, or none.
func (l *loader) phaseGrid(b *block) (g *grid.Grid, ok, full bool) {
	if inner := b.one("grid"); inner != nil {
		return l.grid(inner, fmt.Sprintf("phase %q", b.name()))
	}
	e := b.expr("grid")
	if e == nil {
		return grid.Single(), true, true
	}
	if _, isObject := e.(*hclsyntax.ObjectConsExpr); isObject {
		l.wrong(e, "grid", "An inline grid is a block: write grid { axes = { … } } without the equals sign.")
		return grid.Single(), false, false
	}
	names := map[string]cty.Value{}
	for name := range l.grids {
		names[name] = cty.StringVal(name)
	}
	for _, t := range e.Variables() {
		if parts := attrNames(t); t.RootName() == "grid" && (len(parts) != 2 || l.grids[parts[1]] == nil) {
			name := ""
			if len(parts) > 1 {
				name = parts[1]
			}
			l.ds.Errorat(t.SourceRange(), "Unknown grid", "There is no grid named %q%s", clip(name), didYouMean(name, sortedKeys(l.grids)))
			return grid.Single(), false, false
		}
	}
	v, known := l.eval(e, map[string]cty.Value{"grid": cty.ObjectVal(names)})
	if !known {
		return grid.Single(), false, false
	}
	name, err := asText(v)
	s := l.grids[name]
	if err != nil || s == nil {
		l.wrong(e, "grid", "A grid is needed: grid = grid.NAME, or a grid block.")
		return grid.Single(), false, false
	}
	return s.g, s.ok, s.full
}

// grid evaluates and expands a grid block.
func (l *loader) grid(b *block, name string) (g *grid.Grid, ok, full bool) {
	spec := grid.Spec{Name: name, Repeat: l.texts(b, "repeat"), MaxCells: l.cells, Range: b.rng}
	ok, full = true, true
	if l.broken && b.expr("axes") == nil {
		return grid.Single(), false, false // they may be what could not be read
	}
	if e := b.expr("axes"); e != nil {
		spec.Axes, ok, full = l.axes(e)
	}
	spec.Sample = l.sample(b)
	spec.Include = l.include(b)
	if e := b.expr("where"); e != nil && ok && full && !l.unknownIn(e) {
		preds, ds := expr.Where(e, l.static, spec.Axes)
		l.ds.Append(ds...)
		if ok = !ds.HasErrors(); ok {
			spec.Where = preds
		}
	} else if e != nil {
		full = false
	}
	if !ok {
		return grid.Single(), false, false
	}
	g, ds := grid.Expand(spec)
	l.ds.Append(ds...)
	return g, !ds.HasErrors(), full
}

// unknownIn reports whether an expression reads something that has no value:
// a variable in validate, or a local whose error was told.
func (l *loader) unknownIn(e hcl.Expression) bool {
	for _, t := range e.Variables() {
		if root := t.RootName(); root == "var" || root == "local" {
			v, ds := t.TraverseAbs(l.static)
			if !ds.HasErrors() && !v.IsWhollyKnown() {
				return true
			}
		}
	}
	return false
}

// axes evaluates axes = { NAME = [ … ] }, each axis by itself.
func (l *loader) axes(e hcl.Expression) (axes []grid.Axis, ok, full bool) {
	ok, full = true, true
	for _, it := range l.entries(e, "axes") {
		if it.value == nil {
			return nil, false, false
		}
		if l.unknownIn(it.value) {
			full = false
			axes = append(axes, grid.Axis{Name: it.name, Values: []grid.Value{unknownValue}})
			continue
		}
		v, known := l.eval(it.value)
		if !known {
			ok = false
			continue
		}
		values, good := l.axis(it, v)
		ok = ok && good
		axes = append(axes, grid.Axis{Name: it.name, Values: values})
	}
	return axes, ok, full
}

// unknownValue stands on an axis that depends on a variable without a value.
var unknownValue = grid.Value{V: cty.DynamicVal, Text: "(unknown)", KeyText: `"(unknown)"`}

func (l *loader) axis(it entry, v cty.Value) ([]grid.Value, bool) {
	raw, _ := v.Unmark()
	if !isList(raw) {
		l.wrong(it.value, "axis", "The axis %q must be a list of values, [ … ], not %s.", it.name, article(raw.Type().FriendlyName()))
		return nil, false
	}
	values := make([]grid.Value, 0, raw.LengthInt())
	for k, x := range raw.AsValueSlice() {
		if v.IsMarked() {
			x = x.Mark(sensitive)
		}
		gv, err := grid.NewValue(x)
		if err != nil {
			l.wrong(it.value, "axis value", "Value %d of the axis %q: %s.", k+1, it.name, err)
			return nil, false
		}
		values = append(values, gv)
	}
	return values, true
}

func (l *loader) include(b *block) []map[string]grid.Value {
	e := b.expr("include")
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.Unmark(); !isList(v) {
		l.wrong(e, "include", "A list of cells is needed, [{ N = 768 }].")
		return nil
	}
	var out []map[string]grid.Value
	for k, x := range v.AsValueSlice() {
		if x, _ = x.Unmark(); !isMap(x) {
			l.wrong(e, "include", "Cell %d is not an object of axes and values, { N = 768 }.", k+1)
			return nil
		}
		cell := map[string]grid.Value{}
		for name, val := range x.AsValueMap() {
			gv, err := grid.NewValue(val)
			if err != nil {
				l.wrong(e, "include", "Cell %d, axis %q: %s.", k+1, clip(name), err)
				return nil
			}
			cell[name] = gv
		}
		out = append(out, cell)
	}
	return out
}

func (l *loader) sample(b *block) *grid.Sample {
	e := b.expr("sample")
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !isMap(v) {
		l.wrong(e, "sample", "An object is needed, { count = 100, seed = 7 }.")
		return nil
	}
	m := v.AsValueMap()
	for _, name := range sortedKeys(m) {
		if name != "count" && name != "seed" {
			l.wrong(e, "sample", "There is no %q in a sample%s It holds count and seed.", clip(name), didYouMean(name, []string{"count", "seed"}))
			return nil
		}
	}
	if m["count"] == cty.NilVal {
		l.wrong(e, "sample", "count is missing: { count = 100, seed = 7 }.")
		return nil
	}
	n, err := asInteger(m["count"], 1)
	if err != nil {
		l.wrong(e, "sample", "count: %s.", err)
		return nil
	}
	s := &grid.Sample{Count: n}
	if seed := m["seed"]; seed != cty.NilVal {
		n, err := asInteger(seed, -maxInt)
		if err != nil {
			l.wrong(e, "sample", "seed: %s.", err)
		}
		s.Seed = int64(n)
	}
	return s
}
