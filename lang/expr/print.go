package expr

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A printer writes an expression that holds symbols in its normal form: the
// syntax with one spelling, symbols by name, and in place of every part
// without symbols its value as JSON.
type printer struct {
	c     *compiler
	named bool // axes and params are written by name, too; nothing is evaluated
}

// Source is the normal form of a compiled expression with axes by name.
func (t *Template) Source() string { return source(t.scope, t.expr) }

func source(s *Scope, e hclsyntax.Expression) string {
	p := printer{c: &compiler{t: &Template{scope: s}}, named: true}
	p.expr(e)
	var b strings.Builder
	for _, seg := range p.c.segs {
		b.WriteString(seg.text)
	}
	return b.String()
}

func (p *printer) raw(text string) { p.c.add(segment{kind: segRaw, text: text}) }

func (p *printer) expr(e hclsyntax.Expression) {
	if len(p.c.segs) > maxSegments {
		return
	}
	if _, key := e.(*hclsyntax.ObjectConsKeyExpr); !key && !p.named && closed(e) {
		d := depends(e)
		if len(d.symbols) == 0 {
			p.c.table(e, d, true)
			return
		}
	}
	switch n := e.(type) {
	case *symbolRef:
		p.raw(symbolText(n))
	case *paramRef:
		p.param(n)
	case *cellRef:
		p.raw(p.cell(n))
	case *numberText:
		p.expr(n.of)
	case *canonical:
		p.expr(n.of)
	case *counted:
		p.expr(n.of)
	case *hclsyntax.ParenthesesExpr:
		p.expr(n.Expression)
	case *hclsyntax.TemplateWrapExpr:
		p.expr(n.Wrapped)
	case *hclsyntax.TemplateExpr:
		p.call("template", n.Parts, false)
	case *hclsyntax.TemplateJoinExpr:
		p.call("concatenation", []hclsyntax.Expression{n.Tuple}, false)
	case *hclsyntax.FunctionCallExpr:
		p.call(n.Name, n.Args, n.ExpandFinal)
	case *hclsyntax.TupleConsExpr:
		p.list("[", n.Exprs, "]")
	default:
		p.operation(e)
	}
}

func (p *printer) operation(e hclsyntax.Expression) {
	switch n := e.(type) {
	case *hclsyntax.BinaryOpExpr:
		p.list("("+opName(n.Op)+" ", []hclsyntax.Expression{n.LHS, n.RHS}, ")")
	case *hclsyntax.UnaryOpExpr:
		p.list("("+opName(n.Op)+" ", []hclsyntax.Expression{n.Val}, ")")
	case *hclsyntax.ConditionalExpr:
		p.list("(if ", []hclsyntax.Expression{n.Condition, n.TrueResult, n.FalseResult}, ")")
	case *hclsyntax.IndexExpr:
		p.list("(index ", []hclsyntax.Expression{n.Collection, n.Key}, ")")
	case *hclsyntax.RelativeTraversalExpr:
		p.expr(n.Source)
		p.raw(steps(n.Traversal))
	case *hclsyntax.SplatExpr:
		p.list("(splat ", []hclsyntax.Expression{n.Source, n.Each}, ")")
	case *hclsyntax.AnonSymbolExpr:
		p.raw("it")
	case *hclsyntax.ScopeTraversalExpr: // a name bound by for
		p.raw(n.Traversal.RootName() + steps(n.Traversal[1:]))
	case *hclsyntax.ObjectConsExpr:
		p.object(n)
	case *hclsyntax.ObjectConsKeyExpr:
		if name := hcl.ExprAsKeyword(n.Wrapped); name != "" && !n.ForceNonLiteral {
			p.raw(string(appendQuoted(nil, name)))
			return
		}
		p.expr(n.Wrapped)
	case *hclsyntax.ForExpr:
		p.loop(n)
	case *hclsyntax.LiteralValueExpr:
		p.raw(string(appendJSON(nil, n.Val)))
	default:
		p.raw(fmt.Sprintf("(%T)", e))
	}
}

func (p *printer) cell(n *cellRef) string {
	switch n.axis {
	case wholeCell:
		return "cell" + steps(n.rest)
	case wholeKey:
		return "cell.key" + steps(n.rest)
	}
	return "cell." + p.c.t.scope.grid().Axes[n.axis].Name + steps(n.rest)
}

func (p *printer) param(n *paramRef) {
	if p.named {
		p.raw("param." + n.name + steps(n.rest))
		return
	}
	p.raw("(")
	p.expr(n.t.expr)
	p.raw(")" + steps(n.rest))
}

func (p *printer) call(name string, args []hclsyntax.Expression, expand bool) {
	end := ")"
	if expand {
		end = "...)"
	}
	p.list(name+"(", args, end)
}

func (p *printer) list(open string, elems []hclsyntax.Expression, end string) {
	p.raw(open)
	for i, e := range elems {
		if i > 0 {
			p.raw(", ")
		}
		p.expr(e)
	}
	p.raw(end)
}

func (p *printer) object(n *hclsyntax.ObjectConsExpr) {
	p.raw("{")
	for i, it := range n.Items {
		if i > 0 {
			p.raw(", ")
		}
		p.expr(it.KeyExpr)
		p.raw(": ")
		p.expr(it.ValueExpr)
	}
	p.raw("}")
}

func (p *printer) loop(n *hclsyntax.ForExpr) {
	p.raw("(for " + n.KeyVar + " " + n.ValVar + " in ")
	p.expr(n.CollExpr)
	p.raw(": ")
	if n.KeyExpr != nil {
		p.expr(n.KeyExpr)
		p.raw(" => ")
	}
	p.expr(n.ValExpr)
	if n.Group {
		p.raw("...")
	}
	if n.CondExpr != nil {
		p.raw(" if ")
		p.expr(n.CondExpr)
	}
	p.raw(")")
}

// symbolText is a symbol as written in one spelling, with the steps after it.
func symbolText(n *symbolRef) string { return n.sym.String() + steps(n.rest) }

// steps writes attributes and indices in one spelling.
func steps(t hcl.Traversal) string {
	var b strings.Builder
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + string(appendJSON(nil, s.Key)) + "]")
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

var opNames = map[*hclsyntax.Operation]string{
	hclsyntax.OpLogicalOr: "||", hclsyntax.OpLogicalAnd: "&&", hclsyntax.OpLogicalNot: "!",
	hclsyntax.OpEqual: "==", hclsyntax.OpNotEqual: "!=",
	hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=", hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=",
	hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/", opModulo: "%",
	hclsyntax.OpNegate: "neg",
}

func opName(op *hclsyntax.Operation) string { return opNames[op] }

// closed reports whether an expression can be evaluated where it is: it
// uses no name bound by a for around it and no item of a splat around it.
func closed(e hclsyntax.Expression) bool {
	if len(hclsyntax.Variables(e)) > 0 {
		return false
	}
	w := &itemWalker{}
	_ = hclsyntax.Walk(e, w)
	return !w.loose
}

// itemWalker looks for the item of a splat outside of its splat.
type itemWalker struct {
	depth int
	loose bool
}

func (w *itemWalker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n.(type) {
	case *hclsyntax.SplatExpr:
		w.depth++
	case *hclsyntax.AnonSymbolExpr:
		w.loose = w.loose || w.depth == 0
	}
	return nil
}

func (w *itemWalker) Exit(n hclsyntax.Node) hcl.Diagnostics {
	if _, ok := n.(*hclsyntax.SplatExpr); ok {
		w.depth--
	}
	return nil
}
