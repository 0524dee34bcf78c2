package backends

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// Candidates reads a place block's list; an empty one is reported.
func (s *Set) Candidates(place *syntax.Block) []string {
	return s.Choice(place, "candidates", "candidates")
}

// Choice reads a list of backends for jobs that go to one of them. It reports an empty one;
// instead names an alternative.
func (s *Set) Choice(b *syntax.Block, name, instead string) []string {
	e := b.Expr(name)
	out := s.Places(b, name)
	if v, ok := s.Peek(e, s.Values()); ok && value.IsList(v) && v.LengthInt() == 0 {
		s.Wrong(e, name, "The list is empty, so the jobs could run nowhere. Name a backend, or leave %s out.", instead)
	}
	return out
}

// Values is backend.TYPE.NAME as expressions that name a place see it.
func (s *Set) Values() map[string]cty.Value {
	byType := map[string]map[string]cty.Value{}
	for _, b := range s.All {
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

// Places is a list of backends: backend.TYPE.NAME, any expression of them, or
// their addresses as text.
func (s *Set) Places(b *syntax.Block, name string) []string {
	e := b.Expr(name)
	if e == nil || !s.Exist(e, name) {
		return nil
	}
	v, ok := s.Eval(e, s.Values())
	if !ok {
		return nil
	}
	list, err := value.Texts(v)
	if err != nil {
		s.Wrong(e, name, "A list of backends is needed: %s = [backend.TYPE.NAME].", name)
		return nil
	}
	var out []string
	for _, at := range list {
		at = strings.TrimPrefix(at, "backend.")
		switch {
		case !slices.Contains(s.Names, at):
			s.Unknown(at, e.Range())
		case slices.Contains(out, at):
			s.Sure.Warnat(e.Range(), "Duplicate backend", "backend.%s appears twice in %s; the first place counts.", at, name)
		default:
			out = append(out, at)
		}
	}
	return out
}

// Place is one backend, "" where none is written or there is none such.
func (s *Set) Place(b *syntax.Block, name string) string {
	e := b.Expr(name)
	if e == nil || !s.Exist(e, name) {
		return ""
	}
	v, known := s.Eval(e, s.Values())
	if !known {
		return ""
	}
	text, err := value.Text(v)
	at := strings.TrimPrefix(text, "backend.")
	if err != nil || !slices.Contains(s.Names, at) {
		s.Perhaps.Errorat(e.Range(), "Unknown backend", "There is no backend %q%s Declared: %s.", wording.Clip(text), wording.DidYouMean(text, s.Names), strings.Join(s.Names, ", "))
		return ""
	}
	return at
}

// Rents reports whether a backend rents machines.
func (s *Set) Rents(at string) bool {
	kind, _, _ := strings.Cut(at, ".")
	return s.schemas[kind].Can.Rents
}

// Exist reports references to backends that are not declared.
func (s *Set) Exist(e hcl.Expression, name string) bool {
	all := true
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok {
		for _, x := range list.Exprs {
			if t, ok := x.(*hclsyntax.ScopeTraversalExpr); ok && (t.Traversal.RootName() == "phase" || t.Traversal.RootName() == "grid") {
				s.Wrong(x, name, "A list of backends is needed, [backend.slurm.alpine]; this is %s.", wording.Article(t.Traversal.RootName()))
				all = false
			}
		}
	}
	defer func() {
		if list, ok := e.(*hclsyntax.TupleConsExpr); ok && !all { // texts are looked at below otherwise
			for _, x := range list.Exprs {
				if v, ok := s.Peek(x, nil); ok && v.Type() == cty.String && !slices.Contains(s.Names, strings.TrimPrefix(v.AsString(), "backend.")) {
					s.Unknown(strings.TrimPrefix(v.AsString(), "backend."), x.Range())
				}
			}
		}
	}()
	for _, t := range e.Variables() {
		if t.RootName() != "backend" {
			continue
		}
		parts := value.Names(t)
		if len(parts) != 3 {
			s.Sure.Errorat(t.SourceRange(), "Not a backend", "Write backend.TYPE.NAME, such as backend.%s.", Local)
			all = false
			continue
		}
		if address := parts[1] + "." + parts[2]; !slices.Contains(s.Names, address) {
			s.Unknown(address, t.SourceRange())
			all = false
		}
	}
	return all
}

// Unknown reports a backend that is not declared.
func (s *Set) Unknown(address string, at hcl.Range) {
	s.Perhaps.Errorat(at, "Unknown backend", "There is no backend.%s%s Declared: %s.", wording.Clip(address), wording.DidYouMean(address, s.Names), strings.Join(s.Names, ", "))
}
