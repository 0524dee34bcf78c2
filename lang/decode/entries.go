package decode

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// An Entry is one item of an object written out, or of a computed one.
type Entry struct {
	Name  string
	Value hclsyntax.Expression
	At    hcl.Range
}

// Entries are the items of an object by name: as written, or for a computed
// object (merge, for) the elements of its value, which must then be known
// without a cell. A failure was reported and is one entry without a value.
func (r *Reader) Entries(e hcl.Expression, what string) []Entry {
	syn, isSyntax := e.(hclsyntax.Expression)
	if e == nil || !isSyntax {
		return nil
	}
	obj, written := syn.(*hclsyntax.ObjectConsExpr)
	if !written {
		return r.computedEntries(syn, what)
	}
	var out []Entry
	seen := map[string]bool{}
	for _, it := range obj.Items {
		key, hds := it.KeyExpr.Value(r.Static)
		name, err := value.Text(key)
		switch {
		case hds.HasErrors() || err != nil:
			r.Wrong(it.KeyExpr, what, "The name before the equals sign must be known.")
			return []Entry{{}}
		case seen[name]:
			r.Sure.Errorat(it.KeyExpr.Range(), "Duplicate "+wording.Clip(name), "%q is twice in %s.", wording.Clip(name), what)
		default:
			seen[name] = true
			out = append(out, Entry{name, it.ValueExpr, it.KeyExpr.Range()})
		}
	}
	return out
}

func (r *Reader) computedEntries(e hclsyntax.Expression, what string) []Entry {
	if r.UnknownIn(e) {
		return []Entry{{}}
	}
	v, ok := r.Eval(e)
	if !ok {
		return []Entry{{}}
	}
	raw, marks := v.Unmark()
	if !value.IsMap(raw) {
		r.Wrong(e, what, "An object is needed, { NAME = … }, this is %s.", wording.A(raw))
		return []Entry{{}}
	}
	m := raw.AsValueMap()
	var out []Entry
	for _, name := range slices.Sorted(maps.Keys(m)) {
		lit := &hclsyntax.LiteralValueExpr{Val: m[name].WithMarks(marks), SrcRange: e.Range()}
		out = append(out, Entry{name, lit, e.Range()})
	}
	return out
}

// UnknownIn reports whether an expression reads something that has no value:
// a variable in validate, or a local whose error was reported.
func (r *Reader) UnknownIn(e hcl.Expression) bool {
	for _, t := range e.Variables() {
		if root := t.RootName(); root == "var" || root == "local" {
			v, ds := t.TraverseAbs(r.Static)
			if !ds.HasErrors() && !v.IsWhollyKnown() {
				return true
			}
		}
	}
	return false
}
