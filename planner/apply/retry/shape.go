package retry

import (
	"strconv"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// Shape is the request of a launch after the failures before it, bounded by
// the pool: s is the request of an earlier launch.
func Shape(s offer.Shape, policy lang.Retry, before []state.Attempt, from, launch int, pool offer.Pool) offer.Shape {
	var classes []string
	for i := range before {
		if a := &before[i]; a.N >= from && a.N < launch && a.Class != "" {
			classes = append(classes, a.Class)
		}
	}
	return policy.GrowAll(s, classes, retry.BoundOf(pool, s.Nodes))
}

// Changes lists the resources that scaling changed, for the record.
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
