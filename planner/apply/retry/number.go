package retry

import "github.com/muster-run/muster/state"

// A Number is which launch of a job comes next.
type Number struct {
	N     int
	Fresh bool // its attempts count from 1
	// Again is the plan under whose approval it is launched again; "" = that of
	// now.
	Again string
}

// Next numbers the launch of a job as a plan wants it: fresh says that the plan
// counts its attempts from 1, own that its approval covers the job's launches. Result
// is the result hash that the job is to reach, "" where that is not known.
func Next(rec *state.Job, plan, result string, fresh, own bool) Number {
	last := rec.Last()
	if last == nil {
		return Number{N: 1, Fresh: true}
	}
	// Launches of this plan keep their numbers.
	fresh = fresh && last.Plan != plan
	other := rec.Result != "" && result != "" && rec.Result != result
	if fresh || other || rec.Status == state.Completed || rec.Status == state.Forgotten || rec.Status == state.Cancelled {
		return Number{N: 1, Fresh: true}
	}
	n := Number{N: last.N + 1}
	if !own {
		n.Again = last.Plan
	}
	return n
}
