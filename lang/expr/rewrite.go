package expr

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/value"
)

// A rewriter copies a syntax tree with the language's rule for numbers: in
// templates they are printed by it, and compared by the value of that text. With
// a scope it also resolves every name.
type rewriter struct {
	scope      *Scope
	locals     []string // names bound by enclosing for expressions
	inTemplate bool
	negated    hclsyntax.Expression // the operand of the last !
	ds         diag.List
}

// expr rewrites one node; arith says that its value goes into arithmetic,
// where digits must not be lost on the way.
func (r *rewriter) expr(e hclsyntax.Expression, arith bool) hclsyntax.Expression {
	switch n := e.(type) {
	case nil:
		return nil
	case *hclsyntax.ScopeTraversalExpr:
		return r.traversal(n)
	case *hclsyntax.TemplateExpr:
		return r.template(n)
	case *hclsyntax.TemplateWrapExpr:
		c := *n
		c.Wrapped = r.part(n.Wrapped, func(x hclsyntax.Expression) hclsyntax.Expression { return r.expr(x, arith) })
		return &c
	case *hclsyntax.TemplateJoinExpr:
		c := *n
		c.Tuple = r.part(n.Tuple, func(x hclsyntax.Expression) hclsyntax.Expression { return r.expr(x, false) })
		return &c
	case *hclsyntax.ParenthesesExpr:
		c := *n
		c.Expression = r.expr(n.Expression, arith)
		return &c
	case *hclsyntax.UnaryOpExpr:
		c := *n
		if n.Op == hclsyntax.OpLogicalNot {
			r.negated = n.Val
		}
		c.Val = r.expr(n.Val, true)
		return &c
	case *hclsyntax.BinaryOpExpr:
		return r.binary(n)
	case *hclsyntax.ConditionalExpr:
		c := *n
		c.Condition = r.expr(n.Condition, false)
		c.TrueResult, c.FalseResult = r.branch(n.TrueResult, arith), r.branch(n.FalseResult, arith)
		return &c
	case *hclsyntax.LiteralValueExpr:
		r.bounded(n)
		return n
	default:
		return r.structure(e)
	}
}

// maxExponent bounds numbers, in powers of two: twice the largest of a 64-bit float. Beyond it
// computing takes time and memory with the number's size, not its text's.
const maxExponent = 2048

func (r *rewriter) bounded(n *hclsyntax.LiteralValueExpr) {
	if n.Val.Type() != cty.Number || !n.Val.IsKnown() || n.Val.IsNull() || n.Val.IsMarked() {
		return
	}
	bf := n.Val.AsBigFloat()
	if exp := bf.MantExp(nil); !bf.IsInf() && (exp > maxExponent || exp < -maxExponent) {
		r.ds.Errorat(n.SrcRange, "A number beyond all bounds", "Numbers are those of a 64-bit float, about 5e-324 to 1.8e308, and whole numbers of up to 154 digits.")
	}
}

// structure rewrites calls, collections and access to them.
func (r *rewriter) structure(e hclsyntax.Expression) hclsyntax.Expression {
	switch n := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		c := *n
		c.Source = r.expr(n.Source, false)
		return &c
	case *hclsyntax.FunctionCallExpr:
		c := *n
		r.known(n)
		c.Args = make([]hclsyntax.Expression, len(n.Args))
		for i, a := range n.Args {
			c.Args[i] = r.expr(a, false)
		}
		return &c
	case *hclsyntax.IndexExpr:
		c := *n
		c.Collection, c.Key = r.expr(n.Collection, false), r.compared(n.Key)
		return &c
	case *hclsyntax.SplatExpr:
		c := *n // Item is shared: Each refers to it
		each := r.expr(n.Each, false)
		c.Source, c.Each = r.expr(n.Source, false), &counted{inside(each), each, nodes(each)}
		return &c
	case *hclsyntax.TupleConsExpr:
		c := *n
		c.Exprs = make([]hclsyntax.Expression, len(n.Exprs))
		for i, x := range n.Exprs {
			c.Exprs[i] = r.expr(x, false)
		}
		return &c
	case *hclsyntax.ObjectConsExpr:
		c := *n
		c.Items = make([]hclsyntax.ObjectConsItem, len(n.Items))
		for i, it := range n.Items {
			c.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: r.expr(it.KeyExpr, false), ValueExpr: r.expr(it.ValueExpr, false)}
		}
		return &c
	case *hclsyntax.ObjectConsKeyExpr:
		if !n.ForceNonLiteral && hcl.ExprAsKeyword(n.Wrapped) != "" {
			return n
		}
		return &hclsyntax.ObjectConsKeyExpr{Wrapped: r.keyed(n.Wrapped), ForceNonLiteral: true}
	case *hclsyntax.ForExpr:
		return r.loop(n)
	}
	return e // literals, the item of a splat, syntax errors
}

func (r *rewriter) loop(n *hclsyntax.ForExpr) hclsyntax.Expression {
	c := *n
	c.CollExpr = r.expr(n.CollExpr, false)
	bound := len(r.locals)
	r.locals = append(r.locals, n.KeyVar, n.ValVar)
	if n.KeyExpr != nil {
		c.KeyExpr = r.keyed(n.KeyExpr)
	}
	val := r.expr(n.ValExpr, false)
	c.ValExpr = &counted{inside(val), val, nodes(val)}
	if n.CondExpr != nil {
		cond := r.expr(n.CondExpr, false)
		c.CondExpr = &counted{inside(cond), cond, nodes(cond)}
	}
	r.locals = r.locals[:bound]
	return &c
}

func (r *rewriter) template(n *hclsyntax.TemplateExpr) hclsyntax.Expression {
	c := *n
	c.Parts = make([]hclsyntax.Expression, len(n.Parts))
	for i, p := range n.Parts {
		c.Parts[i] = r.part(p, r.keyed)
	}
	return &c
}

// part rewrites the expression in ${ } of a template.
func (r *rewriter) part(p hclsyntax.Expression, rewrite func(hclsyntax.Expression) hclsyntax.Expression) hclsyntax.Expression {
	outer := r.inTemplate
	r.inTemplate = true
	defer func() { r.inTemplate = outer }()
	return rewrite(p)
}

// keyed rewrites expressions that become text: template parts and object keys.
func (r *rewriter) keyed(p hclsyntax.Expression) hclsyntax.Expression {
	if lit, ok := p.(*hclsyntax.LiteralValueExpr); ok && !lit.Val.IsNull() {
		if t, err := value.Spelled(lit.Val); err == nil {
			return &hclsyntax.LiteralValueExpr{Val: t, SrcRange: lit.SrcRange}
		}
	}
	name := ""
	if t, ok := p.(*hclsyntax.ScopeTraversalExpr); ok {
		name = t.Traversal.RootName() + steps(t.Traversal[1:])
	}
	x := r.expr(p, false)
	return &numberText{inside(x), x, name}
}

// compared rewrites an operand of a comparison, or an index.
func (r *rewriter) compared(e hclsyntax.Expression) hclsyntax.Expression {
	x := r.expr(e, false)
	return &canonical{inside(x), x}
}

// branch rewrites one side of a conditional, which HCL may turn into text to
// agree with the other side.
func (r *rewriter) branch(e hclsyntax.Expression, arith bool) hclsyntax.Expression {
	if arith {
		return r.expr(e, true)
	}
	return r.compared(e)
}

func (r *rewriter) binary(n *hclsyntax.BinaryOpExpr) hclsyntax.Expression {
	c := *n
	switch n.Op {
	case hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply, hclsyntax.OpDivide, hclsyntax.OpModulo:
		c.LHS, c.RHS = r.expr(n.LHS, true), r.expr(n.RHS, true)
		if n.Op == hclsyntax.OpModulo {
			c.Op = opModulo
		}
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		c.LHS, c.RHS = r.expr(n.LHS, false), r.expr(n.RHS, false)
	default:
		c.LHS, c.RHS = r.compared(n.LHS), r.compared(n.RHS)
	}
	return &c
}

func (r *rewriter) traversal(n *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	if r.scope == nil || slices.Contains(r.locals, n.Traversal.RootName()) {
		return n
	}
	return r.resolve(n)
}
