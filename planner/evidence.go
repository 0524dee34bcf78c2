package planner

import (
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// Evidence is how long a phase's jobs take, best first: completed attempts,
// the smoke's time scaled by the params, nothing.
type evidence struct {
	phase   string
	seen    []time.Duration // of completed attempts
	smoke   time.Duration
	ratio   float64 // of the params of a run to those of its smoke
	failing float64 // share of launches that failed in a class that is retried
}

// enoughRuns is how many completed attempts outweigh the smoke.
const enoughRuns = 3

func (m *maker) evidence(w *work) evidence {
	ev := evidence{phase: w.p.Name}
	launches, failed := 0, 0
	for _, job := range w.rec {
		if job == nil {
			continue
		}
		for k := range job.Attempts {
			at := &job.Attempts[k]
			d := elapsed(at)
			if at.Ended.IsZero() || d <= 0 {
				continue
			}
			launches++
			if k == len(job.Attempts)-1 && job.Status == state.Completed {
				ev.seen = append(ev.seen, d)
			} else if at.Class != "" {
				failed++
			}
		}
	}
	if launches >= enoughRuns {
		ev.failing = float64(failed) / float64(launches)
	}
	if len(ev.seen) < enoughRuns {
		ev.smoke, ev.ratio = m.smokeTime(w)
	}
	return ev
}

// elapsed is how long an attempt ran.
func elapsed(at *state.Attempt) time.Duration {
	if at.Usage != nil && at.Usage.Elapsed > 0 {
		return time.Duration(at.Usage.Elapsed * float64(time.Second))
	}
	if at.Started.IsZero() || at.Ended.IsZero() {
		return 0
	}
	return at.Ended.Sub(at.Started)
}

// runtime is one launch of a job with a walltime.
func (ev evidence) runtime(walltime time.Duration) forecast.Runtime {
	switch {
	case len(ev.seen) >= enoughRuns || len(ev.seen) > 0 && ev.ratio <= 0:
		return forecast.Observed(ev.phase, ev.seen, walltime)
	case ev.smoke > 0 && ev.ratio > 0:
		return forecast.Scaled(ev.phase, ev.smoke, ev.ratio, walltime)
	}
	return forecast.Declared(walltime)
}

// smokeTime is the longest passed smoke of a phase and by how much its params
// were shortened: the product of the ratios of those that are numbers.
func (m *maker) smokeTime(w *work) (time.Duration, float64) {
	if w.p.Smoke == nil || len(w.p.Smoke.Cells) == 0 || len(m.st.Validations) == 0 {
		return 0, 0
	}
	longest := 0.0
	for _, v := range m.st.Validations {
		phase, _, ok := split(strings.TrimPrefix(v.Address, "smoke."))
		if ok && phase == w.p.Name && v.Passed {
			longest = max(longest, v.Elapsed)
		}
	}
	if longest <= 0 {
		return 0, 0
	}
	cell := w.p.Smoke.Cells[0]
	ratio, changed := paramsRatio(w.p.Fields(cell, lang.Run), w.p.Fields(cell, lang.SmokeRun))
	if !changed {
		return 0, 0
	}
	return time.Duration(longest * float64(time.Second)), ratio
}

func paramsRatio(run, smoke []lang.Field) (ratio float64, changed bool) {
	short := map[string]string{}
	for _, f := range smoke {
		short[f.Name] = f.Text
	}
	ratio = 1
	for _, f := range run {
		if !strings.HasPrefix(f.Name, "param.") || short[f.Name] == f.Text {
			continue
		}
		a, err := strconv.ParseFloat(f.Text, 64)
		b, err2 := strconv.ParseFloat(short[f.Name], 64)
		if err == nil && err2 == nil && a > 0 && b > 0 {
			ratio *= a / b
			changed = true
		}
	}
	return ratio, changed
}
