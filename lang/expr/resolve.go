package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
)

// resolve replaces a name by its meaning in the scope. A name that is
// not there is reported, and the node stays.
func (r *rewriter) resolve(n *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	root, name, rest := split(n.Traversal)
	s := r.scope
	if names, ok := s.Symbols[root]; ok && !(root == "cell" && s.Grid != nil) {
		if name == "" && (len(names) > 0 || named[root]) {
			r.ds.Errorat(n.SrcRange, "A name is missing", "Write %s.NAME; there is %s.", root, listed(root, names))
			return n
		}
		if names == nil || name == "" || slices.Contains(names, name) {
			return r.symbol(n, root, name, rest, cty.NilVal)
		}
		if !r.static(root, name) {
			r.unknownName(n, root, name, names)
			return n
		}
	}
	switch {
	case root == "cell" && s.Grid != nil:
		return r.cell(n, name, rest)
	case root == "param" && s.Params != nil:
		return r.param(n, name, rest)
	}
	if !r.hasRoot(root) {
		r.unknownRoot(n, root)
		return n
	}
	return r.constant(n, root, name)
}

// split takes a traversal apart into its root, the name after it and the rest.
func split(t hcl.Traversal) (root, name string, rest hcl.Traversal) {
	root = t.RootName()
	if len(t) == 1 {
		return root, "", nil
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return root, step.Name, t[2:]
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return root, step.Key.AsString(), t[2:]
		}
	}
	return root, "", t[1:]
}

func (r *rewriter) symbol(n *hclsyntax.ScopeTraversalExpr, root, name string, rest hcl.Traversal, static cty.Value) hclsyntax.Expression {
	lit := &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: n.SrcRange}
	return &symbolRef{Expression: lit, sym: Symbol{root, name, n.SrcRange}, rest: rest, static: static}
}

func (r *rewriter) cell(n *hclsyntax.ScopeTraversalExpr, name string, rest hcl.Traversal) hclsyntax.Expression {
	ref := &cellRef{Expression: &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: n.SrcRange}, rest: rest}
	g := r.scope.Grid
	for a := range g.Axes {
		ref.all = append(ref.all, a)
	}
	switch {
	case name == "" && len(rest) == 0:
		ref.axis = wholeCell
	case name == "":
		r.ds.Errorat(n.SrcRange, "A name is missing", "Write cell.AXIS or cell.key; a cell has no numbered parts.")
		return n
	case name == "key":
		ref.axis = wholeKey
	default:
		if ref.axis = g.AxisIndex(name); ref.axis < 0 {
			r.unknownAxis(n, name)
			return n
		}
	}
	return ref
}

func (r *rewriter) unknownAxis(n *hclsyntax.ScopeTraversalExpr, name string) {
	names := r.scope.Grid.AxisNames()
	if len(names) == 0 {
		r.ds.Errorat(n.SrcRange, "There is no axis here", "The phase has no grid, so there is no cell.%s. Give the phase a grid with this axis.", name)
		return
	}
	r.ds.Errorat(n.SrcRange, "Unknown axis", "There is no axis named %q; %s", name, suggestion(name, names, "axes are"))
}

// suggestion ends a sentence about an unknown name.
func suggestion(name string, known []string, are string) string {
	if s := diag.Suggest(name, known); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	if len(known) == 0 {
		return "there are none here."
	}
	const most = 12 // names listed
	if len(known) > most {
		known = append(slices.Clone(known[:most]), "…")
	}
	return fmt.Sprintf("the %s %s.", are, strings.Join(known, ", "))
}

func listed(root string, names []string) string {
	if len(names) == 0 {
		return "none here"
	}
	full := make([]string, len(names))
	for i, n := range names {
		full[i] = root + "." + n
	}
	return strings.Join(full, ", ")
}

// known reports a function that is not there, beside all else that is wrong in
// the expression.
func (r *rewriter) known(n *hclsyntax.FunctionCallExpr) {
	if r.scope == nil || r.scope.Static == nil {
		return
	}
	var names []string
	for ctx := r.scope.Static; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Functions[n.Name]; ok {
			return
		}
		names = slices.AppendSeq(names, maps.Keys(ctx.Functions))
	}
	if len(names) == 0 {
		return
	}
	detail := fmt.Sprintf("There is no function named %q", clipName(n.Name))
	switch s := diag.Suggest(n.Name, names); {
	case s != "":
		detail += fmt.Sprintf("; did you mean %q?", s)
	case changing[n.Name] != "":
		detail += ": " + changing[n.Name]
	default:
		detail += "; docs/reference/functions.md lists those there are."
	}
	r.ds.Errorat(n.NameRange, "Unknown function", "%s", detail)
}

func clipName(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// param compiles the parameter that a name refers to, once.
func (r *rewriter) param(n *hclsyntax.ScopeTraversalExpr, name string, rest hcl.Traversal) hclsyntax.Expression {
	s := r.scope
	e, ok := s.Params[name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.Params))
		if name == "" {
			r.ds.Errorat(n.SrcRange, "A name is missing", "Write param.NAME; there is %s.", listed("param", names))
		} else {
			r.unknownName(n, "param", name, names)
		}
		return n
	}
	if slices.Contains(s.open, name) {
		cycle := append(slices.Clone(s.open[slices.Index(s.open, name):]), name)
		r.ds.Errorat(n.SrcRange, "A param refers to itself", "%s.", "param."+strings.Join(cycle, " → param."))
		return n
	}
	t := s.params[name]
	if t == nil {
		s.open = append(s.open, name)
		var ds diag.List
		t, ds = compile(e, s)
		s.open = s.open[:len(s.open)-1]
		r.ds.Append(ds...)
		if s.params == nil {
			s.params = map[string]*Template{}
		}
		s.params[name] = t
	}
	lit := &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: n.SrcRange}
	return &paramRef{Expression: lit, name: name, t: t, rest: rest}
}

func (r *rewriter) hasRoot(root string) bool {
	for ctx := r.scope.Static; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[root]; ok {
			return true
		}
	}
	return false
}

// static reports whether Static has root.name.
func (r *rewriter) static(root, name string) bool {
	for ctx := r.scope.Static; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[root]; ok {
			ty := v.Type()
			return ty == cty.DynamicPseudoType || ty.IsMapType() || ty.IsObjectType() && ty.HasAttribute(name)
		}
	}
	return false
}

// constant puts the value of a name outside the cell in its place. A failing expression stays,
// for try() and can() to catch, and is reported at its final evaluation.
func (r *rewriter) constant(n *hclsyntax.ScopeTraversalExpr, root, name string) hclsyntax.Expression {
	s := r.scope
	if name != "" && !r.static(root, name) {
		if known := r.names(root); known != nil {
			r.unknownName(n, root, name, known)
			return n
		}
	}
	v, ds := n.Traversal.TraverseAbs(s.Static)
	if ds.HasErrors() {
		return n
	}
	if v.ContainsMarked() || s.Sensitive != nil && s.Sensitive(root, name) {
		_, name, rest := split(n.Traversal)
		whole, ds := n.Traversal[:len(n.Traversal)-len(rest)].TraverseAbs(s.Static)
		if ds.HasErrors() {
			return n
		}
		return r.symbol(n, root, name, rest, whole)
	}
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: n.SrcRange}
}

// names are the attributes of a root of Static; nil when they are not known.
func (r *rewriter) names(root string) []string {
	for ctx := r.scope.Static; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[root]; ok {
			if !v.Type().IsObjectType() {
				return nil
			}
			return append([]string{}, slices.Sorted(maps.Keys(v.Type().AttributeTypes()))...)
		}
	}
	return nil
}
