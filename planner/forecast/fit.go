package forecast

import (
	"math"
	"time"
)

// A Law predicts the runtime of jobs of one size by a law that earlier runs follow.
type Law struct {
	Log    float64 // of the median, in seconds
	Spread float64 // standard deviation of log t around the law
	Unsure float64 // standard deviation by which the law itself is off there
	// Points are the runs that it was fitted to, and Freedom these less the fitted parameters.
	Points, Freedom int
}

// Lawful is the runtime of jobs that a law forecasts.
func Lawful(l Law, walltime time.Duration, basis string) Runtime {
	bound := 0.0
	if off := math.Hypot(l.Spread, l.Unsure); off > 0 {
		bound = student90(l.Freedom) * off
	}
	r := Runtime{Expected: seconds(math.Exp(l.Log + l.Spread*l.Spread/2)), Median: seconds(math.Exp(l.Log)), P90: seconds(math.Exp(l.Log + bound)),
		Ceiling: walltime, Mark: Estimated, Seen: l.Points, Basis: basis}
	return r.bounded()
}

// z90 is the 90th percentile of the normal distribution.
const z90 = 1.2816

func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s, 1e9) * float64(time.Second))
}
