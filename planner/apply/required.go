package apply

import (
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// An requiredBackends is a plan and the state of its run.
type requiredBackends struct {
	Plan     *planner.Plan
	Campaign *lang.Campaign
	State    *state.State
	Starts   bool // else only jobs in flight matter
}

// Needed names, in order, every backend that the plan or a job in flight needs.
func (r requiredBackends) Needed() []string {
	need := map[string]bool{}
	if r.Starts {
		r.places(need)
		r.inputs(need)
		r.undigested(need)
	}
	for _, j := range r.State.InFlight() {
		if a := j.Last(); a != nil {
			need[a.Backend] = true
		}
	}
	if len(r.State.Breakers)+len(r.State.Holds) > 0 { // a stopped queue must learn of a resume
		for _, j := range r.State.Jobs {
			if a := j.Last(); a != nil && r.declared(a.Backend) {
				need[a.Backend] = true
			}
		}
	}
	for _, t := range r.Plan.Transfers {
		if need[t.To] = true; !t.Raw || r.declared(t.From) { // of files of this machine, no backend is asked
			need[t.From] = true
		}
	}
	for _, pp := range r.Plan.Phases {
		if slices.Contains(pp.Kind, planner.Restore) {
			r.replaced(need)
			break
		}
	}
	for _, pp := range r.Plan.Phases {
		for i, k := range pp.Kind {
			if k == planner.AdoptFiles {
				backend, _ := providers.CutAt(pp.Details[i].At)
				need[backend] = true
			}
		}
	}
	for _, pp := range r.Plan.Phases {
		if pp.Reread == nil {
			continue
		}
		for _, name := range pp.Reread.Backends {
			if r.declared(name) || r.State.Backends[name].Type != "" {
				need[name] = true
			}
		}
	}
	for _, d := range r.Plan.Deletions {
		need[d.Backend] = true
	}
	for _, row := range r.Plan.Loose {
		if row.Release {
			need[row.Backend] = true
		}
	}
	return slices.Sorted(maps.Keys(need))
}

// Spares names the approved candidates that a plan does not place jobs on, each
// once: they take over where another one is away or refuses.
func (r requiredBackends) Spares() (names []string) {
	for _, pp := range r.Plan.Phases {
		for i := range pp.Placements {
			for _, c := range pp.Placements[i].Candidates {
				if c.Fits && r.declared(c.Backend) && !slices.Contains(names, c.Backend) {
					names = append(names, c.Backend)
				}
			}
		}
		for _, a := range slices.Concat(pp.After...) {
			if name := a.To.Backend; name != "" && r.declared(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// places adds where jobs and smokes go.
func (r requiredBackends) places(need map[string]bool) {
	for _, pp := range r.Plan.Phases {
		for i := range pp.Placements {
			if d := &pp.Placements[i]; i > 0 && d.Backend != "" {
				need[d.Backend] = true
			}
		}
		if g := pp.Smoke; g != nil && g.Place.Backend != "" {
			need[g.Place.Backend] = true
		}
	}
}

// replaced adds the backends where results are that may be put back.
func (r requiredBackends) replaced(need map[string]bool) {
	for _, all := range r.State.Replaced {
		for i := range all {
			if name := all[i].Job.Outputs[0].Backend; r.declared(name) || r.State.Backends[name].Type != "" {
				need[name] = true
			}
		}
	}
}

// inputs adds the backends that have the files to be read.
func (r requiredBackends) inputs(need map[string]bool) {
	if len(r.State.Backends) < 2 && len(r.Campaign.Backends) < 2 {
		return
	}
	read := map[string]bool{} // phases
	for _, pp := range r.Plan.Phases {
		for _, in := range pp.Phase.Inputs {
			if r.Plan.Phase(in.From.Name) != nil {
				read[in.From.Name] = true
			}
		}
	}
	for _, j := range r.State.Jobs {
		if !read[j.Phase] || j.Status != state.Completed {
			continue
		}
		for i := range j.Outputs {
			if name := j.Outputs[i].Backend; r.declared(name) || r.State.Backends[name].Type != "" {
				need[name] = true
			}
		}
	}
}

// undigested adds the backends that have files of inputs which the plan did not read.
func (r requiredBackends) undigested(need map[string]bool) {
	for _, pp := range r.Plan.Phases {
		for _, in := range pp.Phase.Raw {
			if in.Backend != "" && slices.ContainsFunc(pp.Raw[in.Name], func(files []result.File) bool {
				return slices.ContainsFunc(files, func(f result.File) bool { return f.Digest == "" })
			}) {
				need[in.Backend] = true
			}
		}
	}
}

func (r requiredBackends) declared(address string) bool {
	return slices.ContainsFunc(r.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == address })
}
