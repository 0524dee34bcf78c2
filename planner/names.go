package planner

import "github.com/muster-run/muster/planner/change"

// A Reason is why a job runs: the field that changed, its old and its new
// value.
type Reason = change.Reason
