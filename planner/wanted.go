package planner

import "github.com/muster-run/muster/state"

// Does is the plan's action on a cell; None where it has none.
func (pp *PhasePlan) Does(cell int32) Kind {
	if int(cell) < len(pp.Kind) {
		return pp.Kind[cell]
	}
	return None
}

// ResultText is a cell's result hash, in hex; "" where it is not known yet.
func (pp *PhasePlan) ResultText(cell int32) string {
	if int(cell) >= len(pp.Result) || pp.Result[cell].IsZero() {
		return ""
	}
	return pp.Result[cell].String()
}

// Accepted is the hash that a job whose change is accepted gets: that of the job
// as written now.
func (pp *PhasePlan) Accepted(cell int32) string {
	if d, ok := pp.Details[int(cell)]; ok && !d.Computed.IsZero() {
		return d.Computed.String()
	}
	return pp.ResultText(cell)
}

// RecordsIn are the phase's records by cell, nil when there is none. A plan from a
// file comes without them: they are taken from a state.
func (pp *PhasePlan) RecordsIn(st *state.State) []*state.Job {
	if pp.Records != nil || len(st.Jobs) == 0 {
		return pp.Records
	}
	out := make([]*state.Job, pp.Phase.Len())
	for i := range out {
		out[i] = st.Jobs[pp.Phase.Address(i)]
	}
	return out
}
