package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/warnings"
)

// findings are the faults that the refresh found in jobs that this plan
// starts; each says which jobs it blocks where that is not all of a phase.
// Used are the backends where something goes.
func findings(fs *facts, ps phases, used map[string]bool) (diags diag.List) {
	for _, f := range fs.in.Observed.Findings {
		w := ps.byPhase[f.Phase]
		switch {
		case w == nil:
			if fs.waitsFor(f) {
				f.Severity = diag.Warning
			}
			if fs.concerns(f, used) {
				diags.Append(f.Diagnostic)
			}
			continue
		case w.nowhere && strings.Contains(f.Summary, "GPU"):
			continue // that no place has them is said already
		case f.On != "" && goesElsewhere(w, f.On):
			continue
		case f.Cells == nil:
			if w.starting() || fs.in.Options.Destroy {
				diags.Append(f.Diagnostic)
			}
			continue
		}
		blocked, all := concerned(w, f)
		if len(blocked) == 0 {
			continue // the jobs that need it are done
		}
		if len(blocked) < all {
			verb := "blocks"
			if f.Severity != 0 {
				verb = "concerns"
			}
			f.Detail = strings.TrimRight(f.Detail, ". ") + ".\n\n" + fmt.Sprintf("It %s %d of %d jobs: %s.", verb, len(blocked), all, warnings.Some(blocked))
		}
		diags.Append(f.Diagnostic)
	}
	return diags
}

// waitsFor reports whether a campaign that has begun waits until a backend as a whole can be
// used again.
func (fs *facts) waitsFor(f observed.Finding) bool {
	return f.Pauses && f.Phase == "" && f.Severity == diag.Error && len(fs.st.Jobs) > 0
}

// away are the backends to which nothing can go now, with why.
func (fs *facts) away() map[string]string {
	out := maps.Clone(fs.in.Observed.AllAway())
	for _, f := range fs.in.Observed.Findings {
		if fs.waitsFor(f) && out[f.On] == "" {
			if out == nil {
				out = map[string]string{}
			}
			out[f.On] = f.Detail
		}
	}
	return out
}

// localType is the type of backends on this machine.
const localType = "local"

// concerns reports whether a plan shows a finding about a backend as a whole. A finding about
// this machine's room or programs does not concern a plan without jobs here. Another backend
// had to be reached, and every plan shows what muster did there, such as a file put there.
func (fs *facts) concerns(f observed.Finding, used map[string]bool) bool {
	name, named := strings.CutPrefix(f.Address, "backend.")
	if !named || used[name] || fs.in.Options.Destroy {
		return true
	}
	return !strings.HasPrefix(name, localType+".")
}

// goesElsewhere reports whether the placed jobs of a phase go to other
// backends than this one.
func goesElsewhere(w *draft, backend string) bool {
	if g := w.pp.Smoke; g != nil && len(g.Run) > 0 && g.Place.Backend == backend {
		return false
	}
	placed := func(d place.Decision) bool { return d.Backend != "" }
	return slices.ContainsFunc(w.pp.Placements, placed) && !slices.ContainsFunc(w.pp.Placements, func(d place.Decision) bool { return d.Backend == backend })
}

// concerned are the jobs of a finding that this plan would start, and how many
// of their kind it would start in all.
func concerned(w *draft, f observed.Finding) (blocked []string, all int) {
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
