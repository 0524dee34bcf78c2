package expr

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
)

// A segment is a part of a template's text.
type segment struct {
	kind segKind
	text string   // segText (escaped), segRaw
	axis int      // segAxis
	vals []string // segAxis: the axis's texts, escaped
	tab  *table   // segTable
}

type segKind uint8

const (
	segText  segKind = iota // the user's own text
	segRaw                  // a symbol, or the syntax of an expression around one
	segAxis                 // an axis's text
	segKey                  // the cell's key
	segTable                // an expression of some axes
)

// errorText is used where an expression has no value; Errors says why.
const errorText = "${error}"

// compiler turns a rewritten expression into segments.
type compiler struct {
	t    *Template
	segs []segment
	ds   diag.List
}

func (c *compiler) add(s segment) {
	if n := len(c.segs); n > 0 && s.kind == c.segs[n-1].kind && (s.kind == segText || s.kind == segRaw) {
		if s.kind == segText {
			c.segs[n-1].text = string(appendText([]byte(c.segs[n-1].text), 0, s.text))
		} else {
			c.segs[n-1].text += s.text
		}
		return
	}
	if s.kind <= segRaw && s.text == "" {
		return
	}
	c.segs = append(c.segs, s)
}

func (c *compiler) root(e hclsyntax.Expression) {
	switch n := e.(type) {
	case *hclsyntax.TemplateExpr:
		for _, p := range n.Parts {
			if len(c.segs) > maxSegments {
				return
			}
			c.part(p)
		}
	case *hclsyntax.TemplateWrapExpr:
		c.root(n.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		c.root(n.Expression)
	case *cellRef:
		if n.axis >= 0 && c.objects(n.axis) {
			c.expression(n) // the whole setting, not only its key
			return
		}
		c.part(n)
	default:
		c.part(e)
	}
}

func (c *compiler) objects(axis int) bool {
	return slices.ContainsFunc(c.t.scope.grid().Axes[axis].Values, func(v grid.Value) bool { return v.Object })
}

// part compiles the expression in ${ }, or an expression of its own.
func (c *compiler) part(e hclsyntax.Expression) {
	if nt, ok := e.(*numberText); ok {
		inner := nt.of
		if !plain(inner) && !hasSymbols(inner) {
			inner = nt // the text rule applies to the value
		}
		e = inner
	}
	switch n := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		c.add(literal(n.Val))
	case *cellRef:
		c.cell(n)
	case *symbolRef:
		c.add(segment{kind: segRaw, text: "${" + symbolText(n) + "}"})
	case *paramRef:
		if len(n.rest) == 0 && len(n.t.symbols) > 0 {
			c.segs = append(c.segs, n.t.segs...)
			return
		}
		c.expression(e)
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.ParenthesesExpr:
		c.root(n)
	default:
		c.expression(e)
	}
}

// plain reports the nodes that part handles without evaluating.
func plain(e hclsyntax.Expression) bool {
	switch n := e.(type) {
	case *cellRef:
		return len(n.rest) == 0 && n.axis != wholeCell
	case *symbolRef, *hclsyntax.TemplateExpr:
		return true
	case *hclsyntax.ParenthesesExpr:
		return plain(n.Expression)
	}
	return false
}

func hasSymbols(e hclsyntax.Expression) bool { return len(depends(e).symbols) > 0 }

func literal(v cty.Value) segment {
	text := valueText(v)
	if strings.HasPrefix(text, "${") {
		return segment{kind: segRaw, text: text}
	}
	return segment{kind: segText, text: text}
}

func (c *compiler) cell(n *cellRef) {
	switch {
	case len(n.rest) > 0 || n.axis == wholeCell:
		c.expression(n)
	case n.axis == wholeKey:
		c.add(segment{kind: segKey})
	default:
		s := segment{kind: segAxis, axis: n.axis}
		for _, v := range c.t.scope.grid().Axes[n.axis].Values {
			s.vals = append(s.vals, escape(v.Text))
		}
		c.add(s)
	}
}

// expression tabulates parts without a symbol, and writes out parts with one.
func (c *compiler) expression(e hclsyntax.Expression) {
	d := depends(e)
	if len(d.symbols) > 0 {
		c.add(segment{kind: segRaw, text: "${"})
		p := printer{c: c}
		p.expr(e)
		c.add(segment{kind: segRaw, text: "}"})
		return
	}
	c.table(e, d, false)
}

func (c *compiler) table(e hclsyntax.Expression, d dependencies, json bool) {
	tab := &table{t: c.t, e: e, axes: d.axes, json: json}
	if len(d.axes) > 0 {
		c.add(segment{kind: segTable, tab: tab})
		return
	}
	f := c.t.scope.frame(0, nil)
	defer c.t.scope.release(f)
	v, hds := evalIn(f, e)
	c.ds.Append(c.t.explain(hds, 0)...)
	switch {
	case hds.HasErrors():
		c.add(segment{kind: segRaw, text: errorText})
	case json:
		c.add(segment{kind: segRaw, text: string(appendJSON(nil, v))})
	default:
		c.add(literal(v))
	}
}
