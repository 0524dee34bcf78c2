package relaunch

import (
	"maps"
	"slices"
	"strconv"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Shape is what a launch asks for after the failures before it, bounded by
// the pool: s is the shape of an earlier one.
func Shape(s offer.Shape, policy lang.Retry, before []state.Attempt, from, launch int, pool offer.Pool) offer.Shape {
	if launch <= from || len(policy.Scale) == 0 {
		return s
	}
	first := s
	for i := range before {
		a := &before[i]
		if a.N < from || a.N >= launch || a.Class == "" {
			continue
		}
		for _, class := range slices.Sorted(maps.Keys(policy.Scale)) {
			if failure.Is(a.Class, class) {
				s = launches.Grow(s, policy.Scale[class])
				break
			}
		}
	}
	return launches.Bounded(s, first, pool)
}

// Segment is the shape of one of the segments that a job is cut into where it
// is longer than its pool allows; each begins at the checkpoint of the one
// before.
func Segment(s offer.Shape, segments int) offer.Shape {
	return launches.Segment(s, segments)
}

// Launches is how often a job may be launched in all: what the policy allows,
// and once more for each segment after the first.
func Launches(policy lang.Retry, segments int) int {
	return launches.Most(policy, segments)
}

// Policy is the retry policy of a job that is cut into segments: the end of
// one at its walltime is what starts the next.
func Policy(r lang.Retry, segments int) lang.Retry {
	if segments > 1 && !Covers(r, failure.Walltime) {
		r.On = append(slices.Clone(r.On), failure.Walltime)
	}
	return r
}

// Changes names what scaling changed, for the record.
func Changes(was, is offer.Shape) map[string]string {
	var out map[string]string
	add := func(name, a, b string) {
		if a == b {
			return
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = b
	}
	add("cpus", strconv.Itoa(was.CPUs), strconv.Itoa(is.CPUs))
	add("gpus", strconv.Itoa(was.GPUs), strconv.Itoa(is.GPUs))
	add("memory", strconv.FormatInt(was.Memory, 10), strconv.FormatInt(is.Memory, 10))
	add("disk", strconv.FormatInt(was.Disk, 10), strconv.FormatInt(is.Disk, 10))
	add("walltime", was.Walltime.String(), is.Walltime.String())
	return out
}
