package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// An entry is one item of an object written out, or of a computed one.
type entry struct {
	name  string
	value hclsyntax.Expression
	at    hcl.Range
}

// entries are the items of an object by name: as written, or for a computed
// object (merge, for) the elements of its value, which must then be known
// without a cell. A failure was told and is one entry without a value.
func (l *loader) entries(e hcl.Expression, what string) []entry {
	syn, isSyntax := e.(hclsyntax.Expression)
	if e == nil || !isSyntax {
		return nil
	}
	obj, written := syn.(*hclsyntax.ObjectConsExpr)
	if !written {
		return l.computedEntries(syn, what)
	}
	var out []entry
	seen := map[string]bool{}
	for _, it := range obj.Items {
		key, hds := it.KeyExpr.Value(l.static)
		name, err := asText(key)
		switch {
		case hds.HasErrors() || err != nil:
			l.wrong(it.KeyExpr, what, "The name before the equals sign must be known.")
			return []entry{{}}
		case seen[name]:
			l.sure.Errorat(it.KeyExpr.Range(), "Duplicate "+clip(name), "%q stands twice in %s.", clip(name), what)
		default:
			seen[name] = true
			out = append(out, entry{name, it.ValueExpr, it.KeyExpr.Range()})
		}
	}
	return out
}

func (l *loader) computedEntries(e hclsyntax.Expression, what string) []entry {
	if l.unknownIn(e) {
		return []entry{{}}
	}
	v, ok := l.eval(e)
	if !ok {
		return []entry{{}}
	}
	raw, marks := v.Unmark()
	if !isMap(raw) {
		l.wrong(e, what, "An object is needed, { NAME = … }, this is %s.", article(raw.Type().FriendlyName()))
		return []entry{{}}
	}
	m := raw.AsValueMap()
	var out []entry
	for _, name := range sortedKeys(m) {
		lit := &hclsyntax.LiteralValueExpr{Val: m[name].WithMarks(marks), SrcRange: e.Range()}
		out = append(out, entry{name, lit, e.Range()})
	}
	return out
}
