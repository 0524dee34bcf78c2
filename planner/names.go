package planner

import (
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/plan"
)

// A plan, and what it is made of, by the names that those who ask for one use.
type (
	Plan        = plan.Plan
	PhasePlan   = plan.PhasePlan
	Kind        = plan.Kind
	Counts      = plan.Counts
	Detail      = plan.Detail
	Gate        = plan.Gate
	Row         = plan.Row
	Deletion    = plan.Deletion
	Destruction = plan.Destruction
	Reason      = change.Reason
)

// The kinds, in the order of the diff table.
const (
	None      = plan.None
	Run       = plan.Run
	Rerun     = plan.Rerun
	Restart   = plan.Restart
	Retry     = plan.Retry
	Resubmit  = plan.Resubmit
	Continue  = plan.Continue
	Adopt     = plan.Adopt
	Move      = plan.Move
	Accept    = plan.Accept
	HeldKind  = plan.HeldKind
	Blocked   = plan.Blocked
	UnknownAt = plan.UnknownAt
	Missing   = plan.Missing
	Bytes     = plan.Bytes
	Altered   = plan.Altered
	Restore   = plan.Restore
	Duplicate = plan.Duplicate
	Cancel    = plan.Cancel
	Forget    = plan.Forget
	Record    = plan.Record
	Skipped   = plan.Skipped
)
