package explain

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
)

// fullVolumes are those on which a job would work, and which have no room.
func fullVolumes(in planner.Input, x Job) (out []string) {
	backend, pool := x.Decision.Backend, x.Decision.Pool
	if at := x.Detail.State.Last(); !x.Goes && at != nil {
		backend, pool = at.Backend, at.Pool
	}
	if in.State != nil {
		for _, name := range []string{backend, backend + "/" + pool} {
			if p, ok := in.State.Pauses[name]; ok {
				out = append(out, fmt.Sprintf("nothing starts on %s since %s, until its workdir takes files: %s", name, units.FormatTime(p.At.UTC()), p.Reason))
			}
		}
	}
	for _, f := range in.Observed.Findings {
		if f.Pauses && f.On == backend && len(out) == 0 {
			out = append(out, fmt.Sprintf("nothing starts on %s until its workdir takes files: %s", backend, f.Detail))
		}
	}
	return out
}

// uncovered are the budgets that do not leave room for a launch of a job.
func uncovered(in planner.Input, phase string, x Job) (out []string) {
	if !x.Goes || in.State == nil {
		return nil
	}
	each, _ := ceiling.Ceiling(x.Decision, lang.Retry{}, in.Pools)
	for _, b := range in.Campaign.Budgets {
		if b.Counts(phase, x.Decision.Backend) {
			out = append(out, budget.Uncovered(in.State, in.Campaign.Dir, b, amount.Texts(each))...)
		}
	}
	return out
}

// unlisted are the candidates of a job that were not compared, and why.
func unlisted(in planner.Input, pp *planner.PhasePlan, cell int, d place.Decision) (out []place.Candidate) {
	p := pp.Phase
	if len(p.Overflow) > 0 {
		out = overflowing(in, pp, cell, d)
		d.Candidates = slices.Concat(d.Candidates, out)
	}
	g := place.Group{Candidates: p.Candidates, Shape: p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)].Shape}
	return append(out, place.Input{Backends: in.Campaign.Backends, Policy: in.Campaign.Policy, Unreachable: in.Observed.Unreachable}.Unlisted(g, p.Overflow, d)...)
}

// overflowing are the pools of a phase's overflow that a decision does not list,
// with their figures.
func overflowing(in planner.Input, pp *planner.PhasePlan, cell int, d place.Decision) (out []place.Candidate) {
	for _, c := range planner.WouldGo(in, pp, cell, pp.Phase.Overflow...).Candidates {
		listed := func(o place.Candidate) bool { return o.Backend == c.Backend && o.Pool == c.Pool }
		if slices.ContainsFunc(d.Candidates, listed) {
			continue
		}
		if c.Fits {
			c.Won, c.Why = false, place.OverflowTakes
		}
		out = append(out, c)
	}
	return out
}
