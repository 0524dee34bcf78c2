package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
)

// Where compiles a grid's condition into predicates, one for each operand of
// its outermost &&, so that each is asked only once per combination of the
// axes it reads itself.
func Where(e hcl.Expression, static *hcl.EvalContext, axes []grid.Axis) ([]grid.Predicate, diag.List) {
	syn, ok := e.(hclsyntax.Expression)
	if !ok {
		var ds diag.List
		ds.Errorat(e.Range(), "where is not an expression", "Write a condition on the axes, such as cell.N < 512.")
		return nil, ds
	}
	s := &Scope{Grid: &grid.Grid{Axes: axes}, Static: static}
	var preds []grid.Predicate
	var ds diag.List
	for _, operand := range conjuncts(syn) {
		p, more := predicate(operand, s)
		preds = append(preds, p)
		ds.Append(more...)
	}
	return preds, once(ds)
}

func conjuncts(e hclsyntax.Expression) []hclsyntax.Expression {
	switch n := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return conjuncts(n.Expression)
	case *hclsyntax.BinaryOpExpr:
		if n.Op == hclsyntax.OpLogicalAnd {
			return append(conjuncts(n.LHS), conjuncts(n.RHS)...)
		}
	}
	return []hclsyntax.Expression{e}
}

func predicate(e hclsyntax.Expression, s *Scope) (grid.Predicate, diag.List) {
	r := rewriter{scope: s}
	x := r.expr(e, false)
	if r.ds.HasErrors() {
		return grid.Predicate{}, r.ds
	}
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if ref, ok := n.(*cellRef); ok && ref.axis < 0 {
			r.ds.Errorat(ref.Range(), "where reads single axes", "Use cell.AXIS here: a cell has its key only after where has kept it.")
		}
		return nil
	})
	reads := depends(x).axes
	p := grid.Predicate{}
	for _, a := range reads {
		p.Axes = append(p.Axes, s.Grid.Axes[a].Name)
	}
	f, size := newFrame(s, s.Static), nodes(x)
	p.Keep = func(values []*grid.Value) (bool, diag.List) {
		f.values, f.steps, f.bytes = make([]*grid.Value, len(s.Grid.Axes)), 0, 0
		for k, a := range reads {
			f.values[a] = values[k]
		}
		f.meter.spend(size)
		v, hds := f.eval(x)
		if !hds.HasErrors() {
			var keep bool
			if keep, hds = boolOf(v, e.Range()); len(hds) == 0 {
				return keep, nil
			}
		}
		return false, whereError(hds, p.Axes, values)
	}
	return p, r.ds
}

func boolOf(v cty.Value, at hcl.Range) (bool, hcl.Diagnostics) {
	v, _ = v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil || b.IsNull():
		return false, hcl.Diagnostics{problem("The condition is not true or false", "where must be a condition on the axes, such as cell.N < 512.", at)}
	case !b.IsKnown():
		return false, hcl.Diagnostics{problem("The condition is not known yet", "where must be known before anything runs.", at)}
	}
	return b.True(), nil
}

func whereError(hds hcl.Diagnostics, axes []string, values []*grid.Value) diag.List {
	ds := diag.FromHCL(hds)
	for k := range ds {
		for a, name := range axes {
			ds[k].Values = append(ds[k].Values, diag.Value{Traversal: "cell." + name, Statement: "is " + values[a].KeyText})
		}
	}
	return ds
}
