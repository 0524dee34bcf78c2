package rehearse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

const (
	enoughRuns  = 3 // ended launches from which history speaks
	unknownTime = time.Hour
)

// assumed is the distribution of one phase.
type assumed struct {
	phase   *lang.Phase
	plan    forecast.Phase
	rates   map[string]float64 // nil: no history, and machines fail as published
	order   []string           // classes
	expects expectation        // of smokes
	texts   []string           // the sample; none when no job of it will run
}

func assumptions(in Input, places map[string]*described) map[string]*assumed {
	out := map[string]*assumed{}
	layout := in.Plan.Assumed()
	for _, p := range layout.Phases {
		a := &assumed{plan: p}
		for _, pp := range in.Plan.Phases {
			if pp.Phase.Name == p.Name {
				a.phase = pp.Phase
			}
		}
		failures := ""
		a.rates, failures = failing(a.phase, p.Name, in.State)
		if in.Fails != nil {
			a.rates, failures = in.Fails, stated(in.Fails)
		}
		a.order = slices.Sorted(maps.Keys(a.rates))
		for _, g := range p.Groups {
			if g.Decision.Backend != "" {
				a.tell(runtimesOf(p.Name, &g, places))
				a.unpriced(g.Decision)
			}
		}
		for _, g := range p.Groups {
			if g.Decision.Backend != "" {
				a.tell(failuresOf(a, g.Decision.Backend, failures, places))
			}
		}
		for _, pp := range in.Plan.Phases {
			if pp.Phase.Name != p.Name {
				continue
			}
			if a.expects = expectationOf(pp, in, places); a.expects.text != "" {
				a.tell(a.expects.text)
			}
		}
		out[p.Name] = a
	}
	return out
}

// unpriced notes a place whose bill no figure includes.
func (a *assumed) unpriced(d place.Decision) {
	_, known := place.Cost(d.Shape, d.Price, time.Hour)
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		if !known.Of(unit) {
			a.tell("the charge of " + d.Where() + " in " + amount.Unit(unit) + " is unknown, and in no figure")
		}
	}
}

// tell notes a source of the sample, once.
func (a *assumed) tell(text string) {
	if !slices.Contains(a.texts, text) {
		a.texts = append(a.texts, text)
	}
}

// runtimesOf says what the runtimes of like jobs are drawn from.
func runtimesOf(phase string, g *forecast.Group, places map[string]*described) string {
	switch says := places[g.Decision.Backend].says(phase); {
	case says.Median > 0 && open(g.Runtime):
		return runtimeText(g.Decision.Backend, says)
	case g.Runtime.Expected == 0:
		return "how long jobs take is not known: an hour, at most two"
	}
	return strings.TrimPrefix(g.Runtime.Basis, phase+": ")
}

// failuresOf says what the failures of a phase are drawn from on a backend.
func failuresOf(a *assumed, backend, otherwise string, places map[string]*described) string {
	if says := places[backend].says(a.plan.Name); a.rates == nil && says.Fails != nil {
		return "failures as backend." + backend + " says: " + shares(says.Fails)
	}
	return otherwise
}

// failing are the shares of a phase's ended launches that failed, by class.
func failing(of *lang.Phase, phase string, st *state.State) (map[string]float64, string) {
	n, by := 0, map[string]int{}
	for _, j := range st.Jobs {
		if j.Phase != phase || j.Smoke {
			continue
		}
		for i := range j.Attempts {
			switch a := &j.Attempts[i]; {
			case a.Ended.IsZero() || a.Class == failure.CancelledOutside || of != nil && history.GoesOn(of, j, i):
			case a.Class != "":
				by[a.Class]++
				n++
			case a.Exit != nil:
				n++
			}
		}
	}
	if n < enoughRuns {
		return nil, fmt.Sprintf("no history of failures: assumes one machine failure in %.0f days of use (%s), a published rate of clusters", 1/(24*history.MachineFailures), failure.NodeFailure)
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

// stated are the failure rates of the command line.
func stated(rates map[string]float64) string {
	if !slices.ContainsFunc(slices.Collect(maps.Values(rates)), func(v float64) bool { return v > 0 }) {
		return "no failures, as stated"
	}
	return "failures as stated: " + shares(rates)
}

// shares is "oom_gpu 2 %, preempted 10 %".
func shares(rates map[string]float64) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(rates)) {
		parts = append(parts, class+" "+percent(rates[class]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// percent is a share with three digits, or with as many as its whole part has.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// group is the group under which the plan forecasts a job.
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

// launchesApart separates launches that count from 1 again after a resume.
const launchesApart = 1 << 20

// model draws how launches go on a backend in the n-th rehearsal.
func (s *Stage) model(backend string, nth int, visits *int) sim.Model {
	r := nthRehearsal{
		seed:   seedOf(s.in.Seed, nth),
		unseen: drawShared(s.in.Seed, nth, "runtimes nobody has seen", golden),
		today:  drawShared(s.in.Seed, nth, "the day", silver),
	}
	place := s.places[backend]
	sized := s.sizesOn(place)
	return func(j *providers.Job, launch int) sim.Fate {
		a := s.book[j.Phase]
		if a == nil {
			return sim.Fate{Takes: j.Shape.Walltime / 2}
		}
		d := draw{nthRehearsal: r, job: j, place: place, says: place.says(j.Phase), assumed: a, group: a.group(j), address: j.Address, attempt: sim.Attempt(launch + *visits*launchesApart)}
		if j.Smoke {
			d.address = state.SmokeAddress(j.Address)
		}
		runtime, undecided := d.runtime()
		f := sim.Fate{Size: sized[j.Phase], Wait: d.wait(), Takes: d.takes(runtime, undecided)}
		if place != nil {
			f.Metrics, f.Memory = d.says.Metrics, d.says.Memory
		}
		return d.fail(f, runtime)
	}
}

// sizesOn are the sizes of outputs, by phase: those that s knows, or else those of
// the backend's block.
func (s *Stage) sizesOn(place *described) map[string]func(string) int64 {
	sized := map[string]func(string) int64{}
	for phase, by := range s.sizes {
		sized[phase] = func(output string) int64 { return by[output] }
	}
	for _, p := range s.campaign.Phases {
		if sized[p.Name] == nil {
			sized[p.Name] = place.says(p.Name).Sized()
		}
	}
	return sized
}

// endOf is when a launch is ended: at its walltime, or, where it is to be over by
// then, when it is asked to end before.
func endOf(j *providers.Job, g *forecast.Group, r forecast.Runtime) time.Duration {
	if asked := j.Grace > 0; asked && (g == nil || g.Decision.Segments < 2) {
		return min(r.Ceiling, j.Shape.Walltime)
	}
	return r.Ceiling
}
