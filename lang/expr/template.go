// Package expr compiles HCL expressions for the cells of a grid, so that a
// million cells cost no more memory than their distinct texts. Numbers look the
// same wherever they are printed, the canonical text of an expression does not
// depend on formatting, and no expression of a user can make the package panic.
package expr

import (
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
)

// A Template is an expression compiled for the cells of a grid. It may be
// used by several goroutines at once.
type Template struct {
	scope   *Scope
	expr    hclsyntax.Expression // rewritten, every name resolved
	at      hcl.Range
	segs    []segment
	axes    []int
	params  []string
	symbols []Symbol
	secret  []Symbol // among symbols: sensitive values

	values table // for Value
}

// Compile compiles an expression for the cells of a scope. Names are checked
// here; Errors reports errors that only evaluation can find. The template is
// never nil and safe to use even when there are errors.
func Compile(e hcl.Expression, s *Scope) (*Template, diag.List) {
	t, ds := compile(e, s)
	return t, once(ds)
}

func compile(e hcl.Expression, s *Scope) (*Template, diag.List) {
	t, ds := resolved(e, s)
	if ds.HasErrors() {
		return t, ds
	}
	c := compiler{t: t}
	c.root(t.expr)
	t.segs = c.segs
	ds.Append(c.ds...)
	if len(t.segs) > maxSegments {
		ds.Errorat(t.at, "The expression is too large", "With its params written out it has over %d parts.", maxSegments)
		return t.broken(), ds
	}
	return t, ds
}

// resolved is a template whose names are checked, without its text.
func resolved(e hcl.Expression, s *Scope) (*Template, diag.List) {
	t := &Template{scope: s, at: e.Range()}
	syn, ok := e.(hclsyntax.Expression)
	if !ok {
		v, hds := e.Value(s.Static)
		syn = &hclsyntax.LiteralValueExpr{Val: v, SrcRange: e.Range()}
		if hds.HasErrors() {
			t.expr = syn
			return t.broken(), diag.FromHCL(hds)
		}
	}
	r := rewriter{scope: s}
	t.expr = r.expr(syn, false)
	if r.ds.HasErrors() {
		t.expr = syn
		return t.broken(), r.ds
	}
	d := depends(t.expr)
	t.axes, t.params, t.symbols, t.secret = d.axes, d.params, d.symbols, d.secret
	t.values = table{t: t, e: t.expr, axes: t.axes}
	return t, r.ds
}

// Static is the value of an expression outside any cell.
func Static(e hcl.Expression, static *hcl.EvalContext) (cty.Value, diag.List) {
	t, ds := resolved(e, &Scope{Static: static})
	if ds.HasErrors() {
		return cty.DynamicVal, once(ds)
	}
	v, late := t.Value(0)
	ds.Append(late...)
	return v, once(ds)
}

// maxSegments bounds a template with its params written out.
const maxSegments = 100_000

// broken makes a template that could not be compiled safe to use.
func (t *Template) broken() *Template {
	t.expr = &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: t.at}
	t.values = table{t: t, e: t.expr}
	t.segs = []segment{{kind: segRaw, text: errorText}}
	t.axes, t.params, t.symbols, t.secret = nil, nil, nil, nil
	return t
}

// once drops diagnostics said twice: a name may be in many parts.
func once(ds diag.List) diag.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(ds, func(d diag.Diagnostic) bool {
		key := d.String()
		if d.Subject != nil {
			key += d.Subject.String()
		}
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// Axes are the axes it reads, directly or through params, ascending.
func (t *Template) Axes() []int { return t.axes }

// Params are the params it reads, directly or through others, sorted.
func (t *Template) Params() []string { return t.params }

// Symbols are the symbols it reads, directly or through params, sorted and
// once each. Sensitive values are among them.
func (t *Template) Symbols() []Symbol { return t.symbols }

// Sensitive are the sensitive values it reads.
func (t *Template) Sensitive() []Symbol { return t.secret }

// Range is where the expression is written.
func (t *Template) Range() hcl.Range { return t.at }

// List returns the elements of a list written out, [a, b], each compiled; ok
// is false for any other expression.
func List(e hcl.Expression, s *Scope) (elems []*Template, ds diag.List, ok bool) {
	tuple, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil, nil, false
	}
	for _, x := range tuple.Exprs {
		t, more := Compile(x, s)
		elems = append(elems, t)
		ds.Append(more...)
	}
	return elems, ds, true
}

// Value is the value for cell i, for expressions without symbols (sensitive
// values are known). It is evaluated once per combination of the axes read.
func (t *Template) Value(i int) (cty.Value, diag.List) {
	f := t.scope.frame(i, nil)
	defer t.scope.release(f)
	v, hds := t.valueIn(f)
	return v, t.explain(hds, i)
}

func (t *Template) valueIn(f *frame) (cty.Value, hcl.Diagnostics) {
	if len(t.symbols) > 0 && f.lookup != nil {
		return evalIn(f, t.expr)
	}
	return t.values.value(f)
}

// evalIn evaluates and settles the result: canonical, and not too large.
func evalIn(f *frame, e hclsyntax.Expression) (cty.Value, hcl.Diagnostics) {
	v, ds := f.eval(e)
	if ds.HasErrors() {
		return cty.DynamicVal, ds
	}
	if big := tooBig(v, e.Range()); big.HasErrors() {
		return cty.DynamicVal, append(ds, problem(big[0].Summary, big[0].Detail, e.Range()))
	}
	v, err := units.Canonical(v)
	if err != nil {
		return cty.DynamicVal, append(ds, problem("Invalid number", capitalised(err.Error())+".", e.Range()))
	}
	return v, ds
}

// Render is the value for cell i with its symbols resolved; the value is
// free of marks. In a template string a list of paths is joined by spaces.
func (t *Template) Render(i int, lookup Lookup) (cty.Value, diag.List) {
	if lookup == nil {
		lookup = func(string, string) (cty.Value, bool) { return cty.NilVal, false }
	}
	f := t.scope.frame(i, lookup)
	defer t.scope.release(f)
	v, hds := evalIn(f, t.expr)
	v, _ = v.UnmarkDeep()
	return v, t.explain(hds, i)
}

// explain turns HCL's diagnostics into ours and names the cell.
func (t *Template) explain(hds hcl.Diagnostics, i int) diag.List {
	if len(hds) == 0 {
		return nil
	}
	ds := diag.FromHCL(hds)
	for k := range ds {
		if ds[k].Subject == nil {
			ds[k].Subject = t.at.Ptr()
		}
		if key := t.cellText(i); key != "" {
			ds[k].Values = append(ds[k].Values, t.readings(i)...)
			ds[k].Detail = strings.TrimRight(ds[k].Detail, " ") + " In the cell " + key + "."
		}
	}
	return ds
}

func (t *Template) cellText(i int) string {
	if len(t.axes) == 0 || i >= t.scope.grid().Len() {
		return ""
	}
	return t.scope.grid().Key(i)
}

func (t *Template) readings(i int) []diag.Value {
	g := t.scope.grid()
	var vs []diag.Value
	for _, a := range t.axes {
		vs = append(vs, diag.Value{Traversal: "cell." + g.Axes[a].Name, Statement: "is " + g.Value(i, a).KeyText})
	}
	return vs
}

// maxErrors is how many cells of one expression are reported.
const maxErrors = 3

// Errors evaluates the expression for all cells, once per combination of the
// axes it reads, and reports failures with the first cell concerned. For an
// expression with symbols it does so for the parts that have none.
func (t *Template) Errors() diag.List {
	var ds diag.List
	whole := (*table)(nil)
	if len(t.symbols) == len(t.secret) {
		whole = &t.values
	}
	switch _, parts := t.expr.(*hclsyntax.TemplateExpr); {
	case whole != nil && parts:
		// Axis texts and literals cannot fail: one cell, then the tables.
		ds = whole.errors(1, nil)
	case whole != nil:
		ds = whole.errors(t.scope.grid().Len(), nil)
	}
	for k := range t.segs {
		if t.segs[k].tab != nil && !ds.HasErrors() {
			ds.Append(t.segs[k].tab.errors(t.scope.grid().Len(), whole)...)
		}
	}
	return once(ds)
}

// dependencies collects the names that a rewritten expression reads.
type dependencies struct {
	axes    []int
	params  []string
	symbols []Symbol
	secret  []Symbol
}

func depends(e hclsyntax.Expression) dependencies {
	var d dependencies
	seen := map[*Template]bool{}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *symbolRef:
			d.symbols = append(d.symbols, n.sym)
			if n.static != cty.NilVal {
				d.secret = append(d.secret, n.sym)
			}
		case *paramRef:
			if !seen[n.t] {
				seen[n.t] = true
				d.axes = append(d.axes, n.t.axes...)
				d.params = append(append(d.params, n.name), n.t.params...)
				d.symbols = append(d.symbols, n.t.symbols...)
				d.secret = append(d.secret, n.t.secret...)
			}
		}
		return nil
	})
	d.cells(e)
	slices.Sort(d.axes)
	d.axes = slices.Compact(d.axes)
	slices.Sort(d.params)
	d.params = slices.Compact(d.params)
	d.symbols, d.secret = distinct(d.symbols), distinct(d.secret)
	return d
}

func distinct(list []Symbol) []Symbol {
	slices.SortStableFunc(list, func(a, b Symbol) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(list, func(a, b Symbol) bool { return a.String() == b.String() })
}

// cells collects the axes read directly; cell.key and the bare cell read all.
func (d *dependencies) cells(e hclsyntax.Expression) {
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if ref, ok := n.(*cellRef); ok {
			if ref.axis >= 0 {
				d.axes = append(d.axes, ref.axis)
			} else {
				d.axes = append(d.axes, ref.all...)
			}
		}
		return nil
	})
}

// A table holds the value of an expression per combination of the axes it
// reads, when there are few enough; else it is evaluated for each cell.
type table struct {
	t    *Template
	e    hclsyntax.Expression
	axes []int
	json bool // texts are JSON, inside another expression

	once    sync.Once
	nodes   int
	texted  sync.Once
	proj    *projection
	mu      sync.Mutex
	vals    []cty.Value // NilVal: not evaluated yet
	failed  map[int]hcl.Diagnostics
	strings []string
}

func capitalised(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
