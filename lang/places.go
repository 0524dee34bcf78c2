package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// backendValues is backend.TYPE.NAME as expressions that name a place see it.
func (l *loader) backendValues() map[string]cty.Value {
	byType := map[string]map[string]cty.Value{}
	for _, b := range l.c.Backends {
		if byType[b.Type] == nil {
			byType[b.Type] = map[string]cty.Value{}
		}
		byType[b.Type][b.Name] = cty.StringVal(b.Address())
	}
	types := map[string]cty.Value{}
	for t, names := range byType {
		types[t] = cty.ObjectVal(names)
	}
	return map[string]cty.Value{"backend": cty.ObjectVal(types)}
}

// places is a list of backends: backend.TYPE.NAME, any expression of them, or
// their addresses as text.
func (l *loader) places(b *block, name string) []string {
	e := b.expr(name)
	if e == nil || !l.backendsExist(e, name) {
		return nil
	}
	v, ok := l.eval(e, l.backendValues())
	if !ok {
		return nil
	}
	list, err := asTexts(v)
	if err != nil {
		l.wrong(e, name, "A list of backends is needed, [backend.slurm.alpine].")
		return nil
	}
	var out []string
	for _, s := range list {
		s = strings.TrimPrefix(s, "backend.")
		switch {
		case !contains(l.backendNames, s):
			l.unknownBackend(s, e.Range())
		case contains(out, s):
			l.sure.Warnat(e.Range(), "A backend stands twice", "backend.%s stands twice in %s; the first place counts.", s, name)
		default:
			out = append(out, s)
		}
	}
	return out
}

// backendsExist tells references to backends that are not declared.
func (l *loader) backendsExist(e hcl.Expression, name string) bool {
	all := true
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok {
		for _, x := range list.Exprs {
			if t, ok := x.(*hclsyntax.ScopeTraversalExpr); ok && (t.Traversal.RootName() == "phase" || t.Traversal.RootName() == "grid") {
				l.wrong(x, name, "A list of backends is needed, [backend.slurm.alpine]; this is %s.", article(t.Traversal.RootName()))
				all = false
			}
		}
	}
	defer func() {
		if list, ok := e.(*hclsyntax.TupleConsExpr); ok && !all { // texts are looked at below otherwise
			for _, x := range list.Exprs {
				if v, ok := l.peek(x, nil); ok && v.Type() == cty.String && !contains(l.backendNames, strings.TrimPrefix(v.AsString(), "backend.")) {
					l.unknownBackend(strings.TrimPrefix(v.AsString(), "backend."), x.Range())
				}
			}
		}
	}()
	for _, t := range e.Variables() {
		if t.RootName() != "backend" {
			continue
		}
		parts := attrNames(t)
		if len(parts) != 3 {
			l.sure.Errorat(t.SourceRange(), "Not a backend", "Write backend.TYPE.NAME, such as backend.%s.", localAddress)
			all = false
			continue
		}
		if address := parts[1] + "." + parts[2]; !contains(l.backendNames, address) {
			l.unknownBackend(address, t.SourceRange())
			all = false
		}
	}
	return all
}

func (l *loader) unknownBackend(address string, at hcl.Range) {
	l.ds.Errorat(at, "Unknown backend", "There is no backend.%s%s Declared: %s.", clip(address), didYouMean(address, l.backendNames), strings.Join(l.backendNames, ", "))
}

// attrNames lists the steps of a traversal of names; a step that is an index
// by text counts as a name.
func attrNames(t hcl.Traversal) []string {
	var out []string
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			out = append(out, s.Name)
		case hcl.TraverseAttr:
			out = append(out, s.Name)
		case hcl.TraverseIndex:
			text, err := asText(s.Key)
			if err != nil {
				return nil
			}
			out = append(out, text)
		default:
			return nil
		}
	}
	return out
}
