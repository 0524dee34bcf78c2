package planner

import "github.com/muster-run/muster/planner/change"

// A Reason is why a job runs: which field changed, from what, to what.
type Reason = change.Reason
