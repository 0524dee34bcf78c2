// Package wish tells what a plan wants of the cells of a phase: what is done
// with each, and the result that it is to come to.
package wish

import (
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// Kind is what a plan does with a cell; None where it says nothing of it.
func Kind(p *planner.PhasePlan, cell int32) planner.Kind {
	if int(cell) < len(p.Kind) {
		return p.Kind[cell]
	}
	return planner.None
}

// Result is a cell's result hash, in hex; "" where it is not known yet.
func Result(p *planner.PhasePlan, cell int32) string {
	if int(cell) >= len(p.Result) || p.Result[cell].IsZero() {
		return ""
	}
	return p.Result[cell].String()
}

// Accepted is the hash that a job whose change is accepted is to stand for: that
// of the job as written now.
func Accepted(p *planner.PhasePlan, cell int32) string {
	if d, ok := p.Details[int(cell)]; ok && !d.Computed.IsZero() {
		return d.Computed.String()
	}
	return Result(p, cell)
}

// Records are a phase's records by cell, nil when there is none. A plan from a
// file comes without them.
func Records(p *planner.PhasePlan, st *state.State) []*state.Job {
	if p.Records != nil || len(st.Jobs) == 0 {
		return p.Records
	}
	out := make([]*state.Job, p.Phase.Len())
	for i := range out {
		out[i] = st.Jobs[p.Phase.Address(i)]
	}
	return out
}
