package apply

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// A finishedError says that a plan was applied to its end before.
type finishedError struct {
	Plan string
	At   time.Time
	Who  string
}

func (e *finishedError) Error() string {
	return fmt.Sprintf("this plan was applied on %s by %s; plan again to see whether work remains", units.FormatTime(e.At.Local()), e.Who)
}

// resumes reports whether a plan was approved before and goes on now. It is a
// finishedError to apply one that came to its end.
func resumes(st *state.State, plan string) (bool, error) {
	a := approvalOf(st, plan)
	if a == nil {
		return false, nil
	}
	if a.Ended() {
		return false, &finishedError{Plan: a.Plan, At: a.Finished, Who: a.Who}
	}
	return true, nil
}

// unfinishedPlans are the plans, but for one, that were begun and never ended.
func unfinishedPlans(st *state.State, but string) (plans []string) {
	for i := range st.Approvals {
		if a := &st.Approvals[i]; a.Plan != but && a.Finished.IsZero() && !a.Begun.IsZero() {
			plans = append(plans, a.Plan)
		}
	}
	return plans
}

// openPlan is the plan that goes on without anybody being asked: that of the last
// approval that was begun and not finished, if it was for a campaign of this
// digest; else "".
func openPlan(st *state.State, digest string) string {
	for i := len(st.Approvals) - 1; i >= 0; i-- {
		a := &st.Approvals[i]
		if !a.Finished.IsZero() || a.Begun.IsZero() {
			continue
		}
		if a.Digest == digest {
			return a.Plan
		}
		break
	}
	return ""
}

// approvedCeiling is the ceiling approved for a plan; ok is false without an approval.
func approvedCeiling(st *state.State, plan string) (most state.Amounts, ok bool) {
	if a := approvalOf(st, plan); a != nil {
		return a.Ceiling, true
	}
	return nil, false
}

// ceilingCovers reports whether the ceiling approved for a plan covers a job of kind k
// that was in flight already. From then on the launches of that job count under this
// plan, whichever plan launched it first.
func ceilingCovers(st *state.State, plan string, k planner.Kind) bool {
	return k.InFlight() && approvalOf(st, plan) != nil
}

// rerunAddresses are the completed jobs that a plan runs again, as an approval keeps
// them.
func rerunAddresses(p *planner.Plan, st *state.State) (out []string) {
	for _, pp := range p.Phases {
		var some []string
		completed := 0
		for i, k := range pp.Kind {
			address := pp.Phase.Address(i)
			if j := st.Jobs[address]; j == nil || j.Status != state.Completed {
				continue
			}
			if completed++; k == planner.Rerun {
				some = append(some, address)
			}
		}
		if len(some) > 1 && len(some) == completed {
			some = []string{"phase." + pp.Phase.Name}
		}
		out = append(out, some...)
	}
	return out
}

func approvalOf(st *state.State, plan string) *state.Approval {
	for i := range st.Approvals {
		if st.Approvals[i].Plan == plan {
			return &st.Approvals[i]
		}
	}
	return nil
}
