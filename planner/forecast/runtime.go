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
	return Runtime{Expected: walltime / 2, Median: walltime / 2, P90: walltime, Ceiling: walltime, Mark: Estimated, Basis: NoHistory}
}

// Incomparable is the runtime of jobs of a phase that did other work before; by names the
// difference: "epochs 400 → 40,000".
func Incomparable(phase, by string, walltime time.Duration) Runtime {
	r := Declared(walltime)
	r.Basis = fmt.Sprintf("%s: not comparable: %s. Expected is half of each walltime, p90 all of it", phase, by)
	if walltime == 0 {
		r.Basis = fmt.Sprintf("%s: not comparable: %s, and no walltime is stated: how long its jobs take is not known", phase, by)
	}
	return r
}

// Whole is the runtime of a job whose progress is unknown: all of
// its walltime.
func Whole(walltime time.Duration) Runtime {
	r := Declared(walltime)
	r.Expected, r.Median, r.Basis = walltime, walltime, "jobs on a backend that cannot be asked count with all of their walltime"
	return r
}

// Scaled is the runtime extrapolated from a smoke: its time times the ratio of
// the params that were shortened.
func Scaled(phase string, smoke time.Duration, ratio float64, walltime time.Duration) Runtime {
	d := time.Duration(float64(smoke) * ratio)
	r := Runtime{Expected: d, Median: d, P90: d + d/4, Ceiling: walltime, Mark: Estimated,
		Basis: fmt.Sprintf("%s: from its smoke, ×%.3g for the params", phase, ratio)}
	return r.bounded()
}

// Observed is the runtime of a phase some of whose jobs have run: their mean,
// for sums and queues of jobs follow the mean and not the median, and what nine
// in ten of the next are expected to stay below.
func Observed(phase string, seen []time.Duration, walltime time.Duration) Runtime {
	r := Runtime{Expected: mean(seen), Median: Quantile(seen, 0.5), P90: next90(seen), Ceiling: walltime, Mark: Estimated, Seen: len(seen),
		Basis: fmt.Sprintf("%s: mean of %d runs, and the bound for nine in ten of the next", phase, len(seen))}
	r.shape = shapeOf(seen, r.Expected)
	if off := meanOff(seen); off >= shownOff {
		r.Basis = fmt.Sprintf("%s: mean of %d runs, which may be off by ±%.0f %%, and the bound for nine in ten of the next", phase, len(seen), 100*off)
	}
	if len(seen) == 1 {
		r.Basis = phase + ": as long as the one known run, plus a quarter"
	}
	return r.bounded()
}

// shownOff is the share of a mean from which muster shows how far it may be off: so few runs,
// or so unlike ones, that the next ten may well have another mean.
const shownOff = 0.15

// meanOff is the standard error of a mean, as a share of it.
func meanOff(seen []time.Duration) float64 {
	n, m := float64(len(seen)), float64(mean(seen))
	if n < 2 || m <= 0 {
		return 0
	}
	squares := 0.0
	for _, d := range seen {
		squares += (float64(d) - m) * (float64(d) - m)
	}
	return math.Sqrt(squares/(n-1)/n) / m
}

func mean(seen []time.Duration) time.Duration {
	sum := 0.0
	for _, d := range seen {
		sum += float64(d)
	}
	return time.Duration(sum / float64(max(len(seen), 1)))
}

// enoughForRank is from how many values on one of them, by its rank, bounds nine
// in ten of the next: the k-th of n is passed by one in (n+1-k)/(n+1).
const enoughForRank = 9

// next90 is the bound below which the next value stays with a probability of 90
// %, given those seen. A quantile of few values is too low for that: of three,
// the largest is passed by one in four. Many are taken by rank; few are taken
// to be lognormal, and bounded by Student's distribution.
func next90(seen []time.Duration) time.Duration {
	n := len(seen)
	switch {
	case n == 0:
		return 0
	case n == 1:
		return seen[0] + seen[0]/4
	case n >= enoughForRank:
		v := slices.Sorted(slices.Values(seen))
		at := min(0.9*float64(n+1)-1, float64(n-1))
		lo := int(at)
		hi := min(lo+1, n-1)
		return v[lo] + time.Duration((at-float64(lo))*float64(v[hi]-v[lo]))
	}
	var m, s float64
	for _, d := range seen {
		m += math.Log(d.Seconds()) / float64(n)
	}
	for _, d := range seen {
		s += (math.Log(d.Seconds()) - m) * (math.Log(d.Seconds()) - m) / float64(n-1)
	}
	bound := seconds(math.Exp(m + student90(n-1)*math.Sqrt(s*(1+1/float64(n)))))
	return max(bound, slices.Max(seen))
}

// student90 is the 90th percentile of Student's distribution: exact for one and
// two degrees of freedom, else by the expansion of Abramowitz and Stegun
// (26.7.5), which is right to 1 %.
func student90(freedom int) float64 {
	switch {
	case freedom < 1:
		return math.Inf(1)
	case freedom == 1:
		return 3.0777
	case freedom == 2:
		return 1.8856
	}
	z, f := z90, float64(freedom)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f)
}

// Within is the same runtime under another walltime.
func (r Runtime) Within(walltime time.Duration) Runtime {
	r.Ceiling = walltime
	return r.bounded()
}

// Paced is the same runtime on a place that takes so many times as long.
func (r Runtime) Paced(by float64) Runtime {
	for _, d := range []*time.Duration{&r.Expected, &r.Median, &r.P90} {
		*d = time.Duration(float64(*d) * by)
	}
	return r.bounded()
}

// leastLeft is the least remaining share of its runtime for a job that has
// worked long.
const leastLeft = 0.05

// After is the rest of the same runtime after so long.
func (r Runtime) After(worked time.Duration) Runtime {
	if worked <= 0 {
		return r
	}
	for _, d := range []*time.Duration{&r.Expected, &r.Median, &r.P90} {
		*d = max(*d-worked, time.Duration(leastLeft*float64(*d)))
	}
	if r.Ceiling > 0 {
		r.Ceiling = max(r.Ceiling-worked, r.Expected)
	}
	return r
}

// bounded keeps an estimate below the walltime, at which a job is ended.
func (r Runtime) bounded() Runtime {
	if r.Ceiling > 0 {
		r.Expected, r.Median, r.P90 = min(r.Expected, r.Ceiling), min(r.Median, r.Ceiling), min(r.P90, r.Ceiling)
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

// launch is how long one launch takes.
func (r Runtime) launch(p90 bool) time.Duration {
	if p90 {
		return r.P90
	}
	return r.Expected
}

// mostFailing: a phase that always fails is held, not retried for ever.
const mostFailing = 0.9

// again is how many launches a job needs beyond its first on average, when
// each fails with the same probability and only so many are allowed.
func (g Group) again() float64 {
	f := min(g.Failing, mostFailing)
	if f <= 0 || g.Launches <= 1 {
		return 0
	}
	return min(f/(1-f), float64(g.Launches-1))
}

// queueWait is how long a job waits from its submission to its start: for its turn, and for a
// rented machine to boot. Submitted jobs have waited.
func (g Group) queueWait() time.Duration {
	if g.InFlight {
		return 0
	}
	return max(g.Decision.Wait-g.Turn, 0) + g.Decision.Boot
}

// turn is the time before a job starts in a free place; a running job has it
// behind it.
func (g Group) turn(late bool) time.Duration {
	if g.InFlight {
		return 0
	}
	return g.pause(late)
}

// turnAt is the turn at a deviation of the day, for all turns are slow together:
// when the scheduler is busy.
func (g Group) turnAt(deviation float64) time.Duration {
	if g.InFlight || g.Turn <= 0 {
		return g.turn(false)
	}
	spread := math.Log(max(float64(g.TurnP90)/float64(g.Turn), 1)) / z90
	return time.Duration(float64(g.Turn) * math.Exp(spread*deviation))
}

// pause is the time between two launches in one place.
func (g Group) pause(late bool) time.Duration {
	if late {
		return max(g.Turn, g.TurnP90)
	}
	return g.Turn
}

// duration is how long a job keeps its place, one of so many alike, from its
// start, or from now if it runs, to its end: retries, their delays and their
// waits included, and the turn before it, while the place is empty.
func (g Group) duration(late bool, alike int) time.Duration {
	return g.work(late, alike) + g.turn(late) + g.retries(late)
}

// work is the remaining work of such a job.
func (g Group) work(late bool, alike int) time.Duration {
	d := g.Runtime.Expected
	if late {
		d = g.Runtime.Average(float64(alike))
	}
	return max(d-g.Running, 0)
}

// retries is the average time of a job's failed launches.
func (g Group) retries(late bool) time.Duration {
	return time.Duration(g.again() * float64(g.loses(late)))
}

// loses is the time that one failed launch costs a job: its run, the delay and the next wait.
func (g Group) loses(late bool) time.Duration {
	return g.lost(late) + g.Delay + max(g.Decision.Wait, g.pause(late), 0)
}

// lost is how long a launch runs that fails; where none was seen, all of it.
func (g Group) lost(late bool) time.Duration {
	if g.Lost > 0 {
		return g.Lost
	}
	return g.Runtime.launch(late)
}

// billed is the time of one launch that is paid for: a running job's since
// its start.
func (g Group) billed(t time.Duration) time.Duration { return max(t, g.Running) }
