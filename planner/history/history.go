// Package history reads a campaign's earlier jobs: how long jobs take and which resources they
// use, how long queues take, which running jobs are late, and where the work of a renamed
// phase or job went. Without measurements it says so and guesses nothing.
package history

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// Measurements is how long a phase's jobs take, best first: completed attempts,
// the smoke's time scaled by the params, nothing.
type Measurements struct {
	Launches int           // that ended, where enough did for a share of failures; else 0
	Failing  float64       // share of launches that failed
	Lost     time.Duration // how long these ran on the average
	Again    time.Duration // least from the end of one that failed to the start of the next: others' turns may be in the rest; 0 where too few were seen

	phase    string
	policy   *lang.Phase
	seen     []time.Duration   // of completed attempts
	observed *forecast.Runtime // their quantiles, once asked for
	smoke    time.Duration
	ratio    float64 // of the params of a run to those of its smoke
	cores    float64 // most that one kept busy
	longest  time.Duration
	byPool   map[[2]string][]time.Duration // of seen, by backend and pool, where attempts name one
	speeds   map[[2]string]float64
}

// enoughRuns is how many completed attempts outweigh the smoke.
const enoughRuns = 3

// Measurements gathers the evidence of the phase's records, and of its smokes where
// these are too few. Jobs whose work has changed since show how often launches fail,
// and not how long they take.
func (h *Past) Measurements(verdicts map[string]state.Validation) *Measurements {
	p := h.phase
	ev := &Measurements{phase: p.Name, policy: p}
	speaks := h.Speaking()
	launches, failed, lost := 0, 0, time.Duration(0)
	var again []time.Duration
	for cell, job := range h.records {
		if job == nil {
			continue
		}
		for k := range job.Attempts {
			at := &job.Attempts[k]
			d := Elapsed(at)
			if at.Ended.IsZero() || d <= 0 {
				continue
			}
			if GoesOn(p, job, k) {
				continue
			}
			launches++
			if k > 0 && !GoesOn(p, job, k-1) && !at.Started.IsZero() && !job.Attempts[k-1].Ended.IsZero() {
				again = append(again, max(0, at.Started.Sub(job.Attempts[k-1].Ended)))
			}
			if k == len(job.Attempts)-1 && job.Status == state.Completed {
				if speaks(cell) {
					ev.used(at, Worked(p, job))
				}
			} else if at.Class != "" {
				failed++
				lost += d
			}
		}
	}
	if len(again) >= enoughRuns {
		ev.Again = slices.Min(again)
	}
	if launches >= enoughRuns {
		ev.Launches = launches
	}
	if ev.Launches > 0 && failed > 0 {
		ev.Failing, ev.Lost = float64(failed)/float64(launches), lost/time.Duration(failed)
	}
	if !ev.Enough() {
		ev.smoke, ev.ratio = smokeTime(p, verdicts)
	}
	return ev
}

// Enough reports whether enough jobs completed to speak for the phase.
func (ev *Measurements) Enough() bool { return len(ev.seen) >= enoughRuns }

// Pace is how long jobs take on a pool beside how long they take on the
// average, 1 where too few ran there to say.
func (ev *Measurements) Pace(backend, pool string) float64 {
	key := [2]string{backend, pool}
	if v, ok := ev.speeds[key]; ok {
		return v
	}
	v := 1.0
	if here := ev.byPool[key]; len(here) >= enoughRuns && len(here) < len(ev.seen) {
		if all := forecast.Quantile(ev.seen, 0.5); all > 0 {
			v = float64(forecast.Quantile(here, 0.5)) / float64(all)
		}
	}
	if ev.speeds == nil {
		ev.speeds = map[[2]string]float64{}
	}
	ev.speeds[key] = v
	return v
}

// used adds the use of a completed attempt, and how long its work took.
func (ev *Measurements) used(at *state.Attempt, d time.Duration) {
	ev.seen = append(ev.seen, d)
	if at.Pool != "" {
		if ev.byPool == nil {
			ev.byPool = map[[2]string][]time.Duration{}
		}
		key := [2]string{at.Backend, at.Pool}
		ev.byPool[key] = append(ev.byPool[key], d)
	}
	ev.longest = max(ev.longest, d)
	if u := at.Usage; u != nil {
		ev.cores = max(ev.cores, u.CPU/Elapsed(at).Seconds())
	}
}

// Runtime is one launch of a job with a walltime.
func (ev *Measurements) Runtime(walltime time.Duration) forecast.Runtime {
	switch {
	case ev.Enough() || len(ev.seen) > 0 && ev.ratio <= 0:
		if ev.observed == nil {
			r := forecast.Observed(ev.phase, ev.seen, 0)
			ev.observed = &r
		}
		return ev.observed.Within(walltime)
	case ev.smoke > 0 && ev.ratio > 0:
		return forecast.Scaled(ev.phase, ev.smoke, ev.ratio, walltime)
	}
	return forecast.Declared(walltime)
}

// FromSmoke is how long a run takes by the phase's smokes, and how long the longest of
// them took; false where enough jobs say it, or no smoke does.
func (ev *Measurements) FromSmoke() (run, smoke time.Duration, ok bool) {
	if ev.smoke <= 0 || ev.ratio <= 0 {
		return 0, 0, false
	}
	return time.Duration(float64(ev.smoke) * ev.ratio), ev.smoke, true
}

// OnPool is the runtime of a decision's jobs where it puts them: of all launches
// of one together, where these go on from a checkpoint.
func (ev *Measurements) OnPool(d place.Decision) forecast.Runtime {
	r := ev.Runtime(Longest(ev.policy, d))
	if r.Basis == forecast.NoHistory { // a declaration is about the work
		r = forecast.Declared(d.Shape.Walltime)
	}
	if by := ev.Pace(d.Backend, d.Pool); by != 1 {
		return r.Paced(by)
	}
	return r
}

// smokeTime is the longest of the phase's smokes that passed last and by how much a run
// takes longer: as its params were shortened, the product of the ratios of those that are
// numbers. A canary shows with its smoke how much a longer job adds, without the time to
// start.
func smokeTime(p *lang.Phase, verdicts map[string]state.Validation) (smoke time.Duration, ratio float64) {
	if p.Smoke == nil || len(p.Smoke.Cells) == 0 {
		return 0, 0
	}
	last := map[string]state.Validation{} // by address
	for _, v := range verdicts {
		if v.Passed && v.Elapsed > 0 && within(v.Address, p.Name) && (last[v.Address].Address == "" || v.At.After(last[v.Address].At)) {
			last[v.Address] = v
		}
	}
	for _, v := range last {
		took, by := runBy(p, v)
		if run := took.Seconds() * by; run > smoke.Seconds()*ratio {
			smoke, ratio = took, by
		}
	}
	return smoke, ratio
}

// runBy is how long a smoke took, or its canary, and by how much a run takes longer.
func runBy(p *lang.Phase, v state.Validation) (time.Duration, float64) {
	cell := p.Smoke.Cells[0]
	short := v.Params
	if short == nil { // it was not recorded
		short = Shortened(p, cell, lang.SmokeRun)
	}
	ratio, changed := paramsRatio(p.Fields(cell, lang.Run), short)
	if !changed {
		return 0, 0
	}
	if c := p.Smoke.Canary; c != nil && v.Canary != nil && v.Address == p.Address(c.Cell) && v.Canary.Elapsed > v.Elapsed {
		mid := v.Canary.Params
		if mid == nil {
			mid = Shortened(p, c.Cell, lang.CanaryRun)
		}
		left, _ := paramsRatio(p.Fields(c.Cell, lang.Run), mid) // of the run beside its canary
		if longer := ratio / left; longer > 1 {
			each := (v.Canary.Elapsed - v.Elapsed) / (longer - 1)
			if run := v.Canary.Elapsed + each*(ratio-longer); run > 0 {
				return time.Duration(v.Canary.Elapsed * float64(time.Second)), run / v.Canary.Elapsed
			}
		}
	}
	return time.Duration(v.Elapsed * float64(time.Second)), ratio
}

// Shortened are the params of a smoke or a canary that a run of the cell has otherwise.
func Shortened(p *lang.Phase, cell int, variant lang.Variant) map[string]string {
	run, out := map[string]string{}, map[string]string{}
	for _, f := range p.Fields(cell, lang.Run) {
		run[f.Name] = f.Text
	}
	for _, f := range p.Fields(cell, variant) {
		if name, ok := strings.CutPrefix(f.Name, "param."); ok && run[f.Name] != f.Text {
			out[name] = f.Text
		}
	}
	return out
}

// Smoke is the runtime of a smoke of a phase: as those that passed with the params that
// it has.
func Smoke(p *lang.Phase, verdicts map[string]state.Validation, walltime time.Duration) forecast.Runtime {
	var seen []time.Duration
	if p.Smoke != nil && len(p.Smoke.Cells) > 0 {
		short := Shortened(p, p.Smoke.Cells[0], lang.SmokeRun)
		for _, v := range verdicts {
			if v.Passed && v.Elapsed > 0 && within(v.Address, p.Name) && (v.Params == nil || maps.Equal(v.Params, short)) {
				seen = append(seen, time.Duration(v.Elapsed*float64(time.Second)))
			}
		}
	}
	if len(seen) == 0 {
		return forecast.Declared(walltime)
	}
	slices.Sort(seen)
	return forecast.Observed("smokes of "+p.Name, seen, walltime)
}

// within reports whether an address is that of a phase's job or smoke.
func within(address, phase string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(address, "smoke."), "phase."+phase)
	return ok && (rest == "" || rest[0] == '[')
}

// paramsRatio is the factor by which a run takes longer than one with other params, and
// whether one of these is a number.
func paramsRatio(run []lang.Field, short map[string]string) (ratio float64, changed bool) {
	ratio = 1
	for _, f := range run {
		name, ok := strings.CutPrefix(f.Name, "param.")
		text, other := short[name]
		if !ok || !other || text == f.Text {
			continue
		}
		a, err := strconv.ParseFloat(f.Text, 64)
		b, err2 := strconv.ParseFloat(text, 64)
		if err == nil && err2 == nil && a > 0 && b > 0 {
			ratio *= a / b
			changed = true
		}
	}
	return ratio, changed
}
