package decode

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
)

// Secret reports whether an expression reads a sensitive value.
func (r *Reader) Secret(e hcl.Expression) bool {
	if e == nil {
		return false
	}
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool {
		v, ds := t.TraverseAbs(r.Static)
		return !ds.HasErrors() && v.ContainsMarked()
	})
}

// NoSecret reports a path that reads a sensitive value.
func (r *Reader) NoSecret(b *syntax.Block, name string) {
	e := b.Expr(name)
	if e == nil {
		return
	}
	for _, t := range e.Variables() {
		if v, ds := t.TraverseAbs(r.Static); !ds.HasErrors() && v.ContainsMarked() {
			r.Sure.Errorat(t.SourceRange(), "A sensitive value in a path", "%s is sensitive, and a path is shown and stored. Take it out of there.", strings.Join(value.Names(t), "."))
		}
	}
}
