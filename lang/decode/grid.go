package decode

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// Axes evaluates axes = { NAME = [ … ] }, each axis by itself.
func (r *Reader) Axes(e hcl.Expression) (axes []grid.Axis, ok, full bool) {
	ok, full = true, true
	for _, it := range r.Entries(e, "axes") {
		if it.Value == nil {
			return nil, false, false
		}
		if r.UnknownIn(it.Value) {
			full = false
			axes = append(axes, grid.Axis{Name: it.Name, Values: []grid.Value{unknownValue}, At: it.At})
			continue
		}
		values := []grid.Value{unknownValue} // when there is a mistake, which was reported
		v, known := r.Eval(it.Value)
		if known {
			values, known = r.axis(it, v)
		}
		ok = ok && known
		axes = append(axes, grid.Axis{Name: it.Name, Values: values, At: it.At, Counts: counts(it.Value)})
	}
	return axes, ok, full
}

// counts reports whether an axis is written as range(…): its values count jobs.
func counts(e hcl.Expression) bool {
	call, ok := hcl.UnwrapExpression(e).(*hclsyntax.FunctionCallExpr)
	return ok && call.Name == "range"
}

// unknownValue is on an axis that depends on a variable without a value.
var unknownValue = grid.Value{V: cty.DynamicVal, Text: "(unknown)", KeyText: `"(unknown)"`}

func (r *Reader) axis(it Entry, v cty.Value) ([]grid.Value, bool) {
	raw, _ := v.Unmark()
	if !value.IsList(raw) {
		r.Wrong(it.Value, "axis", "The axis %q must be a list of values, [ … ], not %s.", it.Name, wording.A(raw))
		return []grid.Value{unknownValue}, false
	}
	values := make([]grid.Value, 0, raw.LengthInt())
	for k, x := range raw.AsValueSlice() {
		if v.IsMarked() {
			x = x.Mark(value.Sensitive)
		}
		gv, err := grid.NewValue(x)
		if err != nil {
			r.Wrong(element(it.Value, k), "axis value", "Value %d of the axis %q: %s.", k+1, it.Name, err)
			return []grid.Value{unknownValue}, false
		}
		values = append(values, gv)
	}
	return values, true
}

// element is the k-th element of a list written out, else the list.
func element(e hcl.Expression, k int) hcl.Expression {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && k < len(list.Exprs) {
		return list.Exprs[k]
	}
	return e
}

// Include reads include = [{ NAME = VALUE }], and where each cell is written.
func (r *Reader) Include(b *syntax.Block) (cells []map[string]grid.Value, at []hcl.Range) {
	e := b.Expr("include")
	v, ok := r.Eval(e)
	if !ok {
		return nil, nil
	}
	if v, _ = v.Unmark(); !value.IsList(v) {
		r.Wrong(e, "include", "A list of cells is needed, [{ N = 768 }].")
		return nil, nil
	}
	for k, x := range v.AsValueSlice() {
		if cell, ok := r.cell(element(e, k), k, x); ok {
			cells = append(cells, cell)
			at = append(at, element(e, k).Range())
		}
	}
	return cells, at
}

func (r *Reader) cell(e hcl.Expression, k int, v cty.Value) (map[string]grid.Value, bool) {
	if v, _ = v.Unmark(); !value.IsMap(v) {
		r.Wrong(e, "include", "Cell %d is not an object of axes and values, { N = 768 }.", k+1)
		return nil, false
	}
	cell, ok := map[string]grid.Value{}, true
	m := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		gv, err := grid.NewValue(m[name])
		if err != nil {
			r.Wrong(e, "include", "Cell %d, axis %q: %s.", k+1, wording.Clip(name), err)
			ok = false
		}
		cell[name] = gv
	}
	return cell, ok
}

// Sample reads sample = { count = 100, seed = 7 }.
func (r *Reader) Sample(b *syntax.Block) *grid.Sample {
	e := b.Expr("sample")
	v, ok := r.Eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
		r.Wrong(e, "sample", "An object is needed, { count = 100, seed = 7 }.")
		return nil
	}
	m := v.AsValueMap()
	s := &grid.Sample{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		var n int
		var err error
		switch name {
		case "count":
			s.Count, err = value.Integer(m[name], 1)
		case "seed":
			n, err = value.Integer(m[name], -value.MaxInt)
			s.Seed = int64(n)
		default:
			r.Wrong(e, "sample", "There is no %q in a sample%s It holds count and seed.", wording.Clip(name), wording.DidYouMean(name, []string{"count", "seed"}))
		}
		if err != nil {
			r.Wrong(e, "sample", "%s: %s.", name, err)
		}
	}
	if m["count"] == cty.NilVal {
		r.Wrong(e, "sample", "count is missing: { count = 100, seed = 7 }.")
	}
	if s.Count == 0 {
		return nil // told
	}
	return s
}
