package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/remarks"
)

// findings are what the refresh found wrong, of what this plan starts; each
// says which jobs it blocks where that is not all of a phase.
func (m *maker) findings() {
	var used map[string]bool
	if len(m.in.Observed.Findings) > 0 {
		used = m.backendsInUse()
	}
	for _, f := range m.in.Observed.Findings {
		w := m.byPhase[f.Phase]
		switch {
		case w == nil:
			if m.concerns(f, used) {
				m.diags.Append(f.Diagnostic)
			}
			continue
		case w.nowhere && strings.Contains(f.Summary, "GPU"):
			continue // that no place has them is said already
		case f.On != "" && w.goesElsewhere(f.On):
			continue
		case f.Cells == nil:
			if w.starting() || m.in.Options.Destroy {
				m.diags.Append(f.Diagnostic)
			}
			continue
		}
		blocked, all := w.concerned(f)
		if len(blocked) == 0 {
			continue // what needs it is done
		}
		if len(blocked) < all {
			verb := "blocks"
			if f.Severity != 0 {
				verb = "concerns"
			}
			f.Detail = strings.TrimRight(f.Detail, ". ") + ".\n\n" + fmt.Sprintf("It %s %d of %d jobs: %s.", verb, len(blocked), all, remarks.Some(blocked))
		}
		m.diags.Append(f.Diagnostic)
	}
}

// localType is the type of backends on this machine.
const localType = "local"

// concerns reports whether a plan tells what is true of a backend as a whole. Of
// this machine that is the room and the means that jobs need there: nothing to
// a plan that has none there. Another one had to be reached, and what came of
// that, such as a file put there, is told by every plan.
func (m *maker) concerns(f observed.Finding, used map[string]bool) bool {
	name, named := strings.CutPrefix(f.Address, "backend.")
	if !named || used[name] || m.in.Options.Destroy {
		return true
	}
	return !strings.HasPrefix(name, localType+".")
}

// goesElsewhere reports whether what of a phase has a place goes to other
// backends than this one.
func (w *work) goesElsewhere(backend string) bool {
	if g := w.pp.Smoke; g != nil && len(g.Run) > 0 && g.Place.Backend == backend {
		return false
	}
	placed := func(d place.Decision) bool { return d.Backend != "" }
	return slices.ContainsFunc(w.pp.Placements, placed) && !slices.ContainsFunc(w.pp.Placements, func(d place.Decision) bool { return d.Backend == backend })
}

// concerned are the jobs of a finding that this plan would start, and how many
// of their kind it would start in all.
func (w *work) concerned(f observed.Finding) (blocked []string, all int) {
	add := func(i int) {
		all++
		if _, of := slices.BinarySearch(f.Cells, i); of {
			blocked = append(blocked, w.p.Address(i))
		}
	}
	if f.Smoke {
		if g := w.pp.Smoke; g != nil {
			for _, i := range g.Run {
				add(i)
			}
		}
		return blocked, all
	}
	for i, k := range w.pp.Kind {
		if k.Starts() || k == Blocked {
			add(i)
		}
	}
	return blocked, all
}
