package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// An edge is which producers feed which consumers.
type edge struct {
	j      *grid.Joined
	mapped []string // axes of the producer that match maps, by name
}

// Mapped are the producer's axes whose values match gives, by name.
func (in *Input) Mapped() []string { return in.edge.mapped }

// GroupOf is the group of consumer cell i: consumers that read the same files.
func (in *Input) GroupOf(i int) int { return in.edge.j.GroupOf(i) }

// Groups is the number of groups; some may have no consumer.
func (in *Input) Groups() int { return in.edge.j.Groups() }

// Members are the producer's cells of a group, ascending, which is key order;
// exactly one for `from`. The slice is shared.
func (in *Input) Members(g int) []int { return in.edge.j.Members(g) }

// A joiner finds the producers of inputs.
type joiner struct {
	*phases
	compiler *compiler
}

// join matches a phase's inputs to producers, cell by cell, and reports those
// that find none or several.
func (jn *joiner) join(p *phaseBuild) {
	for _, in := range p.Inputs {
		match, ok := jn.match(p, in)
		from := jn.byName[in.From.Name]
		if !ok || !p.ok || !from.ok || jn.Broken {
			in.edge.j = grid.Join(grid.Single(), grid.Single(), nil)
			p.ok = false
			continue
		}
		in.edge = edge{j: grid.Join(p.Grid, from.Grid, match), mapped: slices.Sorted(maps.Keys(match))}
		for _, axis := range grid.MixedTypes(p.Grid, from.Grid) {
			if match[axis] == nil {
				jn.Perhaps.Warnat(in.Range, "One axis in two types", "The axis %q holds numbers in one of phase.%s and phase.%s and texts in the other. They match by text, but one of them is most likely a slip.", axis, p.Name, from.Name)
			}
		}
		jn.checkEdge(p, from, in)
		jn.checkLeast(p, in)
	}
}

// match compiles match = { N = cell.hidden }.
func (jn *joiner) match(p *phaseBuild, in *Input) (map[string]func(i int) string, bool) {
	var b *syntax.Block
	for _, c := range p.job.All("input") {
		if c.Name() == in.Name {
			b = c
		}
	}
	e := b.Expr("match")
	if e == nil {
		return nil, true
	}
	out, ok := map[string]func(i int) string{}, true
	for _, it := range jn.Entries(e, "match") {
		if it.Value == nil {
			return nil, false
		}
		if in.From.Grid.AxisIndex(it.Name) < 0 {
			if ok = false; !jn.byName[in.From.Name].expanded {
				continue // its axes are not known
			}
			jn.Perhaps.Errorat(it.At, "Unknown axis", "phase.%s, the producer, has no axis named %q%s", in.From.Name, wording.Clip(it.Name), wording.Known(it.Name, in.From.Grid.AxisNames(), "its axes are"))
			continue
		}
		t := jn.compiler.template(p, p.scope, it.Value, "a match")
		if t == nil {
			ok = false
			continue
		}
		p.matched = append(p.matched, t)
		out[it.Name] = func(i int) string { return plain(t, i) }
	}
	return out, ok
}

// checkEdge looks at each group once, and at the cells only when one is wrong.
func (jn *joiner) checkEdge(p, from *phaseBuild, in *Input) {
	wrong := false
	for g := range in.Groups() {
		n := len(in.Members(g))
		wrong = wrong || n == 0 || n > 1 && !in.All
	}
	if !wrong {
		return
	}
	bad, cell := 0, -1
	for i := range p.Len() {
		if n := len(in.Members(in.GroupOf(i))); n == 0 || n > 1 && !in.All {
			if bad++; cell < 0 {
				cell = i
			}
		}
	}
	if cell < 0 {
		return // only groups without consumers
	}
	p.ok = false
	jn.Perhaps.Append(jn.edgeError(p, from, in, cell, bad))
}

// mostCandidates is how many jobs a message lists.
const mostCandidates = 5

func (jn *joiner) edgeError(p, from *phaseBuild, in *Input, cell, bad int) diag.Diagnostic {
	members := in.Members(in.GroupOf(cell))
	on := in.edge.j.On()
	d := diag.Diagnostic{Subject: in.Range.Ptr(), Address: p.Address(cell)}
	also := ""
	if bad > 1 {
		also = fmt.Sprintf(" The same goes for %s of phase.%s.", wording.Count(bad-1, "more job"), p.Name)
	}
	switch {
	case len(members) > 1:
		d.Summary = "An input matches several producers"
		d.Detail = fmt.Sprintf("%s takes the input %q from one job of phase.%s, but %d match%s: %s. Write from_all for a list, or add match for the axes that distinguish them.%s",
			p.Address(cell), in.Name, from.Name, len(members), sharing(on), listJobs(from.Phase, members), also)
	case from.Len() == 0:
		d.Summary = "An input matches no producer"
		d.Detail = fmt.Sprintf("%s takes the input %q from phase.%s, which has no jobs.%s", p.Address(cell), in.Name, from.Name, also)
	default:
		d.Summary = "An input matches no producer"
		d.Detail = fmt.Sprintf("%s takes the input %q from a job of phase.%s with %s, and there is none. Its jobs are %s.%s",
			p.Address(cell), in.Name, from.Name, jn.wanted(p, in, cell), listJobs(from.Phase, firstCells(min(from.Len(), mostCandidates+1))), also)
	}
	return d
}

func sharing(on []string) string {
	if len(on) == 0 {
		return " (the two grids share no axis)"
	}
	return " on " + strings.Join(on, ", ")
}

// wanted says which axis values a consumer asks for.
func (jn *joiner) wanted(p *phaseBuild, in *Input, cell int) string {
	match, _ := jn.match(p, in)
	var parts []string
	for _, axis := range in.edge.j.On() {
		text := ""
		if f := match[axis]; f != nil {
			text = f(cell)
		} else {
			text = p.Grid.Value(cell, p.Grid.AxisIndex(axis)).Text
		}
		parts = append(parts, axis+"="+string(addr.AppendKeyText(nil, text)))
	}
	if len(parts) == 0 {
		return "any key"
	}
	return strings.Join(parts, ",")
}

func listJobs(p *Phase, cells []int) string {
	var out []string
	for k, i := range cells {
		if k == mostCandidates {
			out = append(out, "…")
			break
		}
		out = append(out, p.Address(i))
	}
	return strings.Join(out, ", ")
}
