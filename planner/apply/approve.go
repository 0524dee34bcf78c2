package apply

import (
	"cmp"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state"
)

// approve records the variables and files of this apply, and that work under
// the approval has begun. An unfinished plan continues; a finished one is
// refused; -once continues under the approval that it finds.
func (e *engine) approve() error {
	began := begin(e.Plan, e.Campaign, e.st.Lineage, mint(), e.Variables, e.Muster, e.Clock())
	for _, b := range e.Campaign.Backends {
		if site.Needed(e.st, site.Backend(e.Campaign, b, e.st.Lineage)) {
			delete(began.Backends, b.Address())
		}
	}
	e.Emit(began)
	if e.Mode == Once {
		e.continueApproval()
		return e.err
	}
	e.approval = e.Plan.ID
	if begun, err := resumes(e.st, e.Plan.ID); begun || err != nil {
		return cmp.Or(err, e.err)
	}
	for _, plan := range unfinishedPlans(e.st, e.Plan.ID) {
		e.Emit(state.Finished{Plan: plan, Outcome: state.Superseded, At: e.Clock()})
	}
	e.Emit(state.Approved{Approval: state.Approval{Plan: e.Plan.ID, Digest: e.Plan.Digest, Ceiling: e.Plan.Ceiling, Forecast: approvedForecast(&e.Plan.Forecast),
		Muster: e.Muster, Revision: e.At, Programs: programs(e.Plan),
		Who: e.Who, Host: e.Host, Begun: e.Clock(), Saved: e.Saved, Reruns: rerunAddresses(e.Plan, e.st)}})
	return e.err
}

// conclude ends the approval when the plan has come to its end.
func (e *engine) conclude() {
	if e.Mode == Once && e.approval == "" {
		return
	}
	o := e.summary.counts()
	o.Stopped = e.halted
	if word := o.Verdict(e.Mode == Drive, e.holds.Any()); word != "" {
		e.Emit(state.Finished{Plan: e.approval, Outcome: word, At: e.Clock()})
	}
}

// continueApproval finds the approval under which -once may continue: the last
// one that was begun for this campaign as it is now.
func (e *engine) continueApproval() {
	if e.approval = openPlan(e.st, e.Plan.Digest); e.approval != "" {
		return
	}
	c := e.Plan.Counts
	c.Release = 0 // idle machines end as their backend says
	switch {
	case c.Watches(), !c.Changes() && e.Plan.Counts.Release > 0:
		e.halt(progress.Beyond, "") // nothing is; and nothing starts
	case c.Changes():
		e.halt(progress.Beyond, "the current campaign was never approved: run muster apply")
	}
}
