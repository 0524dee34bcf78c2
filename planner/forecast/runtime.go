package forecast

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// NoHistory is the basis of estimates without any evidence (planner.md, Cost
// and walltime).
const NoHistory = "no history yet: expected is half of each walltime, p90 all of it, one attempt each"

// Declared is the runtime of a job nobody has seen run.
func Declared(walltime time.Duration) Runtime {
	if walltime == 0 {
		return Runtime{Mark: Unknown, Basis: "no walltime stated and no history: how long some jobs take is not known"}
	}
	return Runtime{Expected: walltime / 2, P90: walltime, Ceiling: walltime, Mark: Estimated, Basis: NoHistory}
}

// Scaled is the runtime extrapolated from a smoke: its time times the ratio of
// the params that were shortened.
func Scaled(phase string, smoke time.Duration, ratio float64, walltime time.Duration) Runtime {
	d := time.Duration(float64(smoke) * ratio)
	r := Runtime{Expected: d, P90: d + d/4, Ceiling: walltime, Mark: Estimated,
		Basis: fmt.Sprintf("%s: from its smoke, ×%.3g for the params", phase, ratio)}
	return r.bounded()
}

// Observed is the runtime of a phase some of whose jobs have run: the median
// and the 90th percentile.
func Observed(phase string, seen []time.Duration, walltime time.Duration) Runtime {
	r := Runtime{Expected: Quantile(seen, 0.5), P90: Quantile(seen, 0.9), Ceiling: walltime, Mark: Estimated,
		Basis: fmt.Sprintf("%s: median and 90th percentile of %d runs", phase, len(seen))}
	return r.bounded()
}

// bounded keeps an estimate below the walltime, at which a job is ended.
func (r Runtime) bounded() Runtime {
	if r.Ceiling > 0 {
		r.Expected, r.P90 = min(r.Expected, r.Ceiling), min(r.P90, r.Ceiling)
	}
	return r
}

// Quantile interpolates linearly between the two nearest of the sorted values
// (Hyndman and Fan 1996, definition 7). The input is not changed.
func Quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	v := slices.Clone(values)
	slices.Sort(v)
	at := q * float64(len(v)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(v)-1)
	return v[lo] + time.Duration((at-float64(lo))*float64(v[hi]-v[lo]))
}
