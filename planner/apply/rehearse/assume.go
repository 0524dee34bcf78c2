package rehearse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

const (
	enoughRuns  = 3 // ended launches from which history speaks
	unknownTime = time.Hour
)

// assumed is what is drawn from for one phase.
type assumed struct {
	phase *lang.Phase
	plan  forecast.Phase
	rates map[string]float64 // nil: no history, and machines fail as published
	order []string           // classes

	runtimes, failures string // in words, what is drawn from
}

func assumptions(in Input) map[string]*assumed {
	out := map[string]*assumed{}
	layout := in.Plan.Assumed()
	for _, p := range layout.Phases {
		a := &assumed{plan: p}
		for _, pp := range in.Plan.Phases {
			if pp.Phase.Name == p.Name {
				a.phase = pp.Phase
			}
		}
		basis, unknown := "", false
		for _, g := range p.Groups {
			if g.Decision.Backend == "" {
				continue
			}
			unknown = unknown || g.Runtime.Expected == 0
			if basis == "" {
				basis = strings.TrimPrefix(g.Runtime.Basis, p.Name+": ")
			}
		}
		a.rates, a.failures = failing(p.Name, in.State)
		if in.Fails != nil {
			a.rates, a.failures = in.Fails, stated(in.Fails)
		}
		a.order = slices.Sorted(maps.Keys(a.rates))
		if unknown {
			basis = "how long jobs take is not known: an hour, at most two"
		}
		a.runtimes = basis
		out[p.Name] = a
	}
	return out
}

// failing are the shares of a phase's ended launches that failed, by class.
func failing(phase string, st *state.State) (map[string]float64, string) {
	n, by := 0, map[string]int{}
	for _, j := range st.Jobs {
		if j.Phase != phase || j.Smoke {
			continue
		}
		for i := range j.Attempts {
			switch a := &j.Attempts[i]; {
			case a.Ended.IsZero() || a.Class == failure.CancelledOutside:
			case a.Class != "":
				by[a.Class]++
				n++
			case a.Exit != nil:
				n++
			}
		}
	}
	if n < enoughRuns {
		return nil, fmt.Sprintf("no history of failures: machines fail once in %.0f days of use (%s), as published of clusters", 1/(24*evidence.MachineFailures), failure.NodeFailure)
	}
	rates := map[string]float64{}
	for class, k := range by {
		rates[class] = float64(k) / float64(n)
	}
	if len(rates) == 0 {
		return rates, fmt.Sprintf("no launch of %d failed", n)
	}
	return rates, fmt.Sprintf("%s, of %d launches", shares(rates), n)
}

// stated is what was said of failures on the command line.
func stated(rates map[string]float64) string {
	if len(rates) == 0 {
		return "no failures, as stated"
	}
	return "failures as stated: " + shares(rates)
}

// shares is "oom_gpu 2 %, preempted 10 %".
func shares(rates map[string]float64) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(rates)) {
		parts = append(parts, fmt.Sprintf("%s %.2g %%", class, 100*rates[class]))
	}
	return strings.Join(parts, ", ")
}

// group is what the plan assumes of a job.
func (a *assumed) group(j *providers.Job) *forecast.Group {
	if j.Smoke && a.plan.SmokeJob.Decision.Backend != "" {
		return &a.plan.SmokeJob
	}
	if p, err := addr.Parse(j.Address); err == nil && a.phase != nil {
		if i, ok := a.phase.Index(p.Key); ok && i < len(a.plan.Of) {
			if g := a.plan.Of[i]; g > 0 && int(g) < len(a.plan.Groups) {
				return &a.plan.Groups[g]
			}
		}
	}
	for i := range a.plan.Groups {
		if a.plan.Groups[i].Decision.Backend != "" {
			return &a.plan.Groups[i] // it was blocked: as others of its phase
		}
	}
	return nil
}

// golden and silver are the steps between the shared draws of rehearsals that
// follow one another: they spread them evenly, however many there are (Kronecker
// sequences), so that a hundred rehearsals tell what thousands would.
var golden, silver = (math.Sqrt(5) - 1) / 2, math.Sqrt2 - 1

// drawShared is a deviation that all jobs share in the n-th rehearsal. Whoever
// overstates one walltime that nobody has seen overstates all, and all that was
// seen runs on the same day. The forecast moves them together, too.
func drawShared(seed uint64, nth int, what string, step float64) float64 {
	_, u := math.Modf(sim.Uniform(seed, what) + float64(nth)*step)
	return sim.Deviation(u)
}

// model draws how launches go in the n-th rehearsal.
func (s *Stage) model(nth int) sim.Model {
	seed := seedOf(s.in.Seed, nth)
	unseen, today := drawShared(s.in.Seed, nth, "runtimes nobody has seen", golden), drawShared(s.in.Seed, nth, "the day", silver)
	return func(j *providers.Job, launch int) sim.Fate {
		a := s.book[j.Phase]
		if a == nil {
			return sim.Fate{Takes: j.Shape.Walltime / 2}
		}
		address, n := j.Address, sim.Attempt(launch)
		if j.Smoke {
			address = state.SmokeAddress(address)
		}
		runtime := forecast.Declared(j.Shape.Walltime)
		var f sim.Fate
		g := a.group(j)
		if g != nil {
			runtime = g.Runtime
			f.Wait = max(g.Decision.Wait, 0)
		}
		if runtime.Expected == 0 {
			runtime.Expected, runtime.Median, runtime.P90 = unknownTime, unknownTime, 2*unknownTime
		}
		off := forecast.Off{Day: today, Phase: unseen, Alone: sim.Normal(seed, address, n, "runtime")}
		if runtime.Seen > 0 { // a phase that was seen is off by itself, but for the day
			off.Phase, off.Spread = sim.Normal(seed, a.plan.Name, "median"), sim.Normal(seed, a.plan.Name, "spread")
		}
		f.Takes = runtime.Draw(off)
		if limit := runtime.Ceiling; limit > 0 {
			// A draw ends at the walltime: launches that it ended are among the
			// failures, and only what is foretold to take longer is sure to be.
			if inFlight := g != nil && g.InFlight; runtime.Seen > 0 && runtime.Median >= limit && !inFlight {
				f.Takes = 2 * limit
			}
		}
		u := sim.Uniform(seed, address, n, "failure")
		when := func(takes time.Duration) time.Duration { // at any moment, alike
			return time.Duration(max(sim.Uniform(seed, address, n, "when"), 1e-6) * float64(takes))
		}
		if a.rates == nil && u < evidence.LostWithMachines(j.Shape.Nodes, f.Takes) {
			f.Class, f.After = failure.NodeFailure, when(f.Takes)
		}
		for _, class := range a.order {
			if u -= a.rates[class]; u >= 0 {
				continue
			}
			if class == failure.Walltime {
				f.Takes = max(f.Takes, 2*j.Shape.Walltime)
			} else {
				f.Class, f.After = class, when(f.Takes)
			}
			break
		}
		return f
	}
}
