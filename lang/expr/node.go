package expr

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/value"
)

// The nodes below stand in for parts of HCL's syntax tree. Each embeds the
// node it replaces, inside parentheses, so that HCL's own walks still see it.

func inside(e hclsyntax.Expression) hclsyntax.Expression {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// numberText is a part of a template: numbers become text by the language's
// rule, an object with a key attribute its key, a list of files its paths.
type numberText struct {
	hclsyntax.Expression
	of   hclsyntax.Expression
	name string // as written, if it is one
}

func (n *numberText) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, ds := n.of.Value(ctx)
	if ds.HasErrors() {
		return v, ds
	}
	if v.IsNull() {
		what := n.name
		if what == "" {
			what = "The value"
		}
		return cty.UnknownVal(cty.String), append(ds, problem("A null in a text", what+` is null, and a string cannot contain null. Give it a value, or a fallback: ${coalesce(…, "none")}.`, n.of.Range()))
	}
	if v.Type() == cty.String {
		return v, ds
	}
	switch of := n.of.(type) {
	case *symbolRef:
		v = spliced(v)
	case *paramRef:
		if len(of.t.symbols) > 0 {
			v = spliced(v)
		}
	}
	t, err := value.Spelled(v)
	if err != nil {
		return cty.UnknownVal(cty.String), append(ds, problem("Invalid number in a template", capitalised(err.Error())+".", n.of.Range()))
	}
	return t, ds
}

// spliced is a list of paths as it belongs in a command: joined by a space.
func spliced(v cty.Value) cty.Value {
	raw, marks := v.Unmark()
	if !raw.IsWhollyKnown() || raw.IsNull() || !(raw.Type().IsListType() || raw.Type().IsTupleType()) {
		return v
	}
	var parts []string
	for _, e := range raw.AsValueSlice() {
		if e, _ = e.Unmark(); e.Type() != cty.String || e.IsNull() {
			return v
		}
		parts = append(parts, e.AsString())
	}
	return cty.StringVal(strings.Join(parts, " ")).WithMarks(marks)
}

// canonical gives numbers the value of their text where they are compared.
type canonical struct {
	hclsyntax.Expression
	of hclsyntax.Expression
}

func (n *canonical) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, ds := n.of.Value(ctx)
	if ds.HasErrors() {
		return v, ds
	}
	c, err := units.Canonical(v)
	if err != nil {
		return cty.DynamicVal, append(ds, problem("Invalid number", capitalised(err.Error())+".", n.of.Range()))
	}
	return c, ds
}

// counted is evaluated once per iteration and keeps loops within bounds.
type counted struct {
	hclsyntax.Expression
	of    hclsyntax.Expression
	nodes int
}

func (n *counted) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, ds := n.of.Value(ctx)
	if f := frameOf(ctx); f != nil {
		f.spend(n.nodes, v)
	}
	return v, ds
}

// cellRef is cell.AXIS, cell.key or the bare cell.
type cellRef struct {
	hclsyntax.Expression
	axis int   // or one of the below
	all  []int // every axis, for these
	rest hcl.Traversal
}

const (
	wholeKey  = -1 // cell.key
	wholeCell = -2 // cell
)

func (n *cellRef) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	g := f.scope.grid()
	var v cty.Value
	switch {
	case f.values != nil: // in a where, which has no cells yet
		v = f.values[n.axis].V
	case n.axis >= 0:
		v = g.Value(f.cell, n.axis).V
	case n.axis == wholeKey:
		v = cty.StringVal(g.Key(f.cell))
	default:
		attrs := map[string]cty.Value{"key": cty.StringVal(g.Key(f.cell))}
		for a := range g.Axes {
			attrs[g.Axes[a].Name] = g.Value(f.cell, a).V
		}
		v = cty.ObjectVal(attrs)
	}
	return traverse(v, n.rest)
}

// symbolRef is a value that is written by name until a job is rendered.
type symbolRef struct {
	hclsyntax.Expression
	sym    Symbol
	rest   hcl.Traversal
	static cty.Value // a sensitive value, known all along; else NilVal
}

func (n *symbolRef) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	if f.lookup != nil {
		if v, ok := f.lookup(n.sym.Root, n.sym.Name); ok {
			return traverse(v, n.rest)
		}
	}
	if n.static != cty.NilVal {
		return traverse(n.static, n.rest)
	}
	return cty.DynamicVal, hcl.Diagnostics{problem("The value is not known here", n.sym.String()+" is known only where the job is rendered.", n.Range())}
}

// paramRef is param.NAME, compiled once and shared by all that read it.
type paramRef struct {
	hclsyntax.Expression
	name string
	t    *Template
	rest hcl.Traversal
}

func (n *paramRef) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, ds := n.t.valueIn(frameOf(ctx))
	if ds.HasErrors() {
		return v, ds
	}
	return traverse(v, n.rest)
}

func traverse(v cty.Value, rest hcl.Traversal) (cty.Value, hcl.Diagnostics) {
	if len(rest) == 0 {
		return v, nil
	}
	return rest.TraverseRel(v)
}

func problem(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at.Ptr()}
}
