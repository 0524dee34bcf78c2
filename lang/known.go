package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Known is a pattern of work that went wrong before. A lab keeps such blocks in a
// file that its campaigns share, so a pattern that names an axis or a parameter
// that a phase does not have means nothing for that phase.
type Known struct {
	Name       string
	Risk       string // one of Risks
	Mitigation string
	Seen       string // when and where, in the lab's own words
	Range      hcl.Range

	when map[*Phase]*expr.Template // by the phases it can be asked of
}

// risks are the risks of a known pattern, the least first.
var risks = []string{"low", "medium", "high", "critical"}

// patterns reads the known blocks and compiles each condition for the phases that have all
// its names.
func (ps *phases) patterns(blocks []*syntax.Block) (out []*Known) {
	for _, b := range blocks {
		k := &Known{Name: b.Name(), Risk: ps.OneOf(b, "risk", risks...), Mitigation: ps.Text(b, "mitigation"), Seen: ps.Text(b, "seen"), Range: b.Range, when: map[*Phase]*expr.Template{}}
		if when := b.Expr("when"); when != nil {
			ps.compileKnown(k, when)
		}
		out = append(out, k)
	}
	return out
}

func (ps *phases) compileKnown(k *Known, when hcl.Expression) {
	for _, p := range ps.order {
		if !p.ok || !p.names(when) {
			continue
		}
		t, ds := expr.Compile(when, ps.knownScope(p))
		if ds.HasErrors() {
			ps.Perhaps.Append(ds...)
			return // the other phases would say the same
		}
		k.when[p.Phase] = t
	}
}

// knownScope has the names of a phase for a known pattern.
func (ps *phases) knownScope(p *phaseBuild) *expr.Scope {
	s := &expr.Scope{Grid: p.Grid, Static: ps.Static, Params: map[string]hcl.Expression{}, Symbols: map[string][]string{
		"shape": slices.Sorted(maps.Keys(shapeFields)), "phase": {}, "backend": {}, "pool": {}, "command": {}, "image": {},
	}}
	for _, e := range p.params {
		s.Params[e.Name] = e.Value
	}
	return s
}

// names reports whether the phase has every axis and parameter that an expression
// reads.
func (p *phaseBuild) names(e hcl.Expression) bool {
	has := map[string]map[string]bool{"cell": {}, "param": {}}
	for _, a := range p.Grid.Axes {
		has["cell"][a.Name] = true
	}
	for _, e := range p.params {
		has["param"][e.Name] = true
	}
	for _, t := range e.Variables() {
		names, ok := has[t.RootName()]
		if !ok || len(t) < 2 {
			continue
		}
		if at, ok := t[1].(hcl.TraverseAttr); ok && !names[at.Name] {
			return false
		}
	}
	return true
}

// A KnownSite is where a job would run, as its plan says.
type KnownSite struct{ Backend, Pool string }

// Matcher is the pattern for the jobs of a phase; nil where it cannot be asked
// of them.
func (k *Known) Matcher(p *Phase) *KnownMatcher {
	t := k.when[p]
	if t == nil {
		return nil
	}
	axes := slices.Clone(t.Axes())
	for _, s := range t.Symbols() {
		if s.Root == "command" || s.Root == "image" {
			for _, name := range p.fieldsOf(s.Root) {
				axes = append(axes, p.FieldAxes(name)...)
			}
		}
	}
	slices.Sort(axes)
	return &KnownMatcher{p: p, when: t, like: p.Grid.Project(slices.Compact(axes)), was: map[knownCase]bool{}}
}

// A KnownMatcher evaluates one pattern over the jobs of one phase, once for those
// that are alike in all that the pattern reads.
type KnownMatcher struct {
	p    *Phase
	when *expr.Template
	like grid.Projection
	was  map[knownCase]bool
	err  diag.List
}

type knownCase struct {
	like, request int
	site          KnownSite
}

// Matches reports whether the job of a cell is such work.
func (m *KnownMatcher) Matches(cell int, at KnownSite) bool {
	c := knownCase{m.like.Of(cell), m.p.RequestOf(cell, Run), at}
	if was, ok := m.was[c]; ok {
		return was
	}
	v, ds := m.when.Render(cell, func(root, name string) (cty.Value, bool) { return m.lookup(root, name, cell, at) })
	if !ds.HasErrors() && (v.Type() != cty.Bool || !v.IsKnown() || v.IsNull()) {
		ds.Errorat(m.when.Range(), "Invalid when", "A condition is true or false, not %s.", wording.A(v))
	}
	if ds.HasErrors() && len(m.err) == 0 {
		m.err = ds
	}
	m.was[c] = !ds.HasErrors() && v.True()
	return m.was[c]
}

// Unread is why the pattern could not be evaluated for a job; empty when it could
// for all.
func (m *KnownMatcher) Unread() diag.List { return m.err }

func (m *KnownMatcher) lookup(root, name string, cell int, at KnownSite) (cty.Value, bool) {
	switch root {
	case "shape":
		return RuleScope{Shape: m.shape(cell)}.lookup(root, name)
	case "phase":
		return cty.StringVal(m.p.Name), true
	case "backend":
		return cty.StringVal(at.Backend), true
	case "pool":
		return cty.StringVal(at.Pool), true
	case "command", "image":
		var words []string
		for _, name := range m.p.fieldsOf(root) {
			text, _ := m.p.Field(cell, name)
			words = append(words, text)
		}
		return cty.StringVal(strings.Join(words, " ")), true
	}
	return cty.NilVal, false
}

func (m *KnownMatcher) shape(cell int) offer.Shape {
	return m.p.Requests(Run)[m.p.RequestOf(cell, Run)].Shape
}

// fieldsOf are the names of the fields that hold a command or an image: one, or
// one for each word of a list.
func (p *Phase) fieldsOf(root string) (names []string) {
	if p.Len() == 0 {
		return nil
	}
	for _, f := range p.Fields(0, Run) {
		if f.Name == root || strings.HasPrefix(f.Name, root+"[") {
			names = append(names, f.Name)
		}
	}
	return names
}
