package rehearse

import (
	"math"
	"time"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/sim"
)

// An nthRehearsal is shared by all launches of one rehearsal.
type nthRehearsal struct {
	seed          uint64
	unseen, today float64 // deviations of runtimes
}

// A draw is the chance of one launch: each of its methods draws one part of a fate,
// the same whenever it is asked.
type draw struct {
	nthRehearsal
	job     *providers.Job
	place   *described // nil: the backend's block says nothing
	says    sim.Says
	assumed *assumed
	group   *forecast.Group // nil: the plan assumes nothing of the job
	address string
	attempt string
}

// wait is the launch's time in the backend's queue.
func (d *draw) wait() time.Duration {
	normal := sim.Normal(d.seed, d.address, d.attempt, "wait")
	switch {
	case d.place != nil:
		return d.place.wait(d.job.Pool, normal)
	case d.group != nil:
		return forecast.Waits(max(d.group.Decision.Wait, 0), d.group.WaitSpread, normal)
	}
	return 0
}

// runtime is the distribution of the launch's runtime, and whether only the backend's
// own block can say more of it.
func (d *draw) runtime() (r forecast.Runtime, undecided bool) {
	r = forecast.Declared(d.job.Shape.Walltime)
	if d.group != nil {
		r = d.group.Runtime
	}
	undecided = open(r)
	if r.Expected == 0 {
		r.Expected, r.Median, r.P90 = unknownTime, unknownTime, 2*unknownTime
	}
	return r, undecided
}

// takes is how long the launch would run if it did not fail.
func (d *draw) takes(r forecast.Runtime, undecided bool) time.Duration {
	alone := sim.Normal(d.seed, d.address, d.attempt, "runtime")
	off := forecast.Off{Day: d.today, Phase: d.unseen, Alone: alone}
	if r.Seen > 0 { // a phase that was seen is off by itself, but for the day
		name := d.assumed.plan.Name
		off.Phase, off.Spread = sim.Normal(d.seed, name, "median"), sim.Normal(d.seed, name, "spread")
	}
	takes := r.Draw(off)
	if undecided && d.says.Median > 0 {
		takes = d.says.Takes(d.job, alone)
	}
	limit := endOf(d.job, d.group, r)
	if limit <= 0 {
		return takes
	}
	// A draw ends with the launch. Launches that it ended are among the failures;
	// among jobs in flight only those expected to take longer are sure to fail.
	inFlight := d.group != nil && d.group.InFlight
	switch {
	case r.Seen > 0 && r.Median >= limit && !inFlight:
		return 2 * r.Ceiling
	case takes <= r.Ceiling:
		return min(takes, limit)
	}
	return takes
}

// fail draws whether and when the launch fails.
func (d *draw) fail(f sim.Fate, r forecast.Runtime) sim.Fate {
	u := sim.Uniform(d.seed, d.address, d.attempt, "failure")
	rates, order := d.assumed.rates, d.assumed.order
	if rates == nil && d.says.Fails != nil {
		rates, order = d.says.Fails, d.place.order[d.job.Phase]
	}
	if rates == nil && u < history.LostWithMachines(d.job.Shape.Nodes, f.Takes) {
		f.Class, f.After = failure.NodeFailure, d.when(f.Takes, r)
	}
	for _, class := range order {
		if u -= rates[class]; u >= 0 {
			continue
		}
		if class == failure.Walltime {
			f.Takes = max(f.Takes, 2*d.job.Shape.Walltime)
		} else {
			f.Class, f.After = class, d.when(f.Takes, r)
		}
		break
	}
	if d.job.Smoke && f.Class == "" && sim.Uniform(d.seed, d.address, d.attempt, Unexpected) < d.assumed.expects.fails {
		f.Class, f.After = Unexpected, f.Takes
	}
	return f
}

// when is the moment of a failure within a runtime: any, with equal chance, or as
// early or late as failures were seen.
func (d *draw) when(takes time.Duration, r forecast.Runtime) time.Duration {
	u := max(sim.Uniform(d.seed, d.address, d.attempt, "when"), 1e-6)
	if g := d.group; g != nil && g.Lost > 0 && r.Seen > 0 && r.Expected > 0 {
		u = math.Pow(u, 1/min(float64(g.Lost)/float64(r.Expected), 1)-1) // its mean is that share
	}
	return time.Duration(u * float64(takes))
}
