package lang

import (
	"slices"
	"strings"
)

// sortPhases puts producers before consumers, else by name, and reports cycles.
func (ps *phases) sortPhases() {
	slices.SortFunc(ps.order, func(a, b *phaseBuild) int { return strings.Compare(a.Name, b.Name) })
	state := map[string]int8{}
	var out []*phaseBuild
	var visit func(p *phaseBuild, path []string)
	visit = func(p *phaseBuild, path []string) {
		state[p.Name] = 1
		path = append(path, p.Name)
		for _, ref := range p.edgesBefore() {
			switch state[ref.name] {
			case 0:
				visit(ps.byName[ref.name], path)
			case 1:
				ps.phaseCycle(path, ref)
			}
		}
		state[p.Name] = 2
		out = append(out, p)
	}
	for _, p := range ps.order {
		if state[p.Name] == 0 {
			visit(p, nil)
		}
	}
	ps.order = out
}

// edgesBefore lists the phases that must come first, by name.
func (p *phaseBuild) edgesBefore() []afterRef {
	out := slices.Clone(p.after)
	for _, in := range p.Inputs {
		out = append(out, afterRef{in.From.Name, in.Range})
	}
	slices.SortStableFunc(out, func(a, b afterRef) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(out, func(a, b afterRef) bool { return a.name == b.name })
}

func (ps *phases) phaseCycle(path []string, ref afterRef) {
	cycle := append(slices.Clone(path[slices.Index(path, ref.name):]), ref.name)
	// Phases wait for one another in the direction of the path; as data flows
	// it is the other way round.
	slices.Reverse(cycle)
	if len(cycle) == 2 {
		ps.Sure.Errorat(ref.at, "A phase waits for itself", "phase.%s reads its own output, so it could never start. If one job makes a file for another, put the two in different phases.", ref.name)
		return
	}
	ps.Sure.Errorat(ref.at, "Phases wait for one another", "%s: each needs the one before it, so none could start. Take one of these inputs or depends_on away.", strings.Join(cycle, " → "))
	for _, name := range cycle {
		ps.byName[name].ok = false
	}
}
