package decode

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Reference is an address written as names: phase.students, or a keyword.
type Reference struct {
	Parts []string
	At    hcl.Range
}

// References reads a list of static references, also as text.
func (r *Reader) References(b *syntax.Block, name string) []Reference {
	e := b.Expr(name)
	if e == nil {
		return nil
	}
	items, hds := hcl.ExprList(e)
	if hds.HasErrors() {
		text := r.Source.Text(e.Range())
		if _, quoted := e.(*hclsyntax.TemplateExpr); quoted {
			text = "" // names are written without quotes
		}
		r.Wrong(e, name, "A list is needed: %s = [%s].", name, or(text, "…"))
		return nil
	}
	var out []Reference
	for _, it := range items {
		if t, hds := hcl.AbsTraversalForExpr(it); !hds.HasErrors() && t.RootName() != "var" && t.RootName() != "local" {
			out = append(out, Reference{value.Names(t), it.Range()})
		} else if v, ok := r.Eval(it); ok {
			text, err := value.Text(v)
			if err != nil {
				r.Wrong(it, name, "%s.", wording.Capitalised(err.Error()))
				continue
			}
			out = append(out, Reference{strings.Split(text, "."), it.Range()})
		}
	}
	return out
}

func or(s, otherwise string) string {
	const most = 60 // bytes that are repeated in a message
	if s == "" || len(s) > most {
		return otherwise
	}
	return s
}
