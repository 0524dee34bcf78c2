package planner

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/state"
)

// TestRuntimesFollowAnAxis: where completed jobs took as many minutes as their
// axis says, the others are expected to do so, too; where they did not, the
// median counts.
func TestRuntimesFollowAnAxis(t *testing.T) {
	t.Parallel()
	var seeds []int
	for i := 1; i <= 20; i++ {
		seeds = append(seeds, i)
	}
	for name, c := range map[string]struct {
		minutes func(seed int) float64
		hours   float64 // of the jobs 11 to 20, expected
		basis   string
	}{
		"as many minutes as the axis says": {func(n int) float64 { return float64(n) }, 155.0 / 60, "a: fitted as 60s·n from 10 runs"},
		"a constant, and the axis": {func(n int) float64 { return 10 + float64(n) }, 255.0 / 60,
			"a: fitted as 10m + 60s·n from 10 runs (typical error 0 %); n=20 is beyond the 1 to 10 that ran, and there the model may be off by ±0 %"},
		"all the same": {func(int) float64 { return 6 }, 1, "a: mean of 10 runs, and the bound for nine in ten of the next"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			camp := load(t, nil, phaseSpec{name: "a", seeds: seeds, lr: "1", sizes: true})
			st := applied(t, camp, state.Completed)
			for i := range camp.Phases[0].Len() {
				job := st.Jobs[camp.Phases[0].Address(i)]
				if i >= 10 {
					delete(st.Jobs, job.Address)
					continue
				}
				job.Attempts[0].Started = now
				job.Attempts[0].Ended = now
				job.Attempts[0].Usage = &state.Usage{Elapsed: 60 * c.minutes(i+1)}
			}
			p := planned(t, input(camp, st))
			got := 0.0
			for _, l := range p.Forecast.Lines {
				if l.Unit == "cpu_hours" {
					got, _ = decimal.RequireFromString(l.Expected.Text).Float64()
				}
			}
			if math.Abs(got/c.hours-1) > 0.03 {
				t.Errorf("%.3f CPU-hours are expected, not %.3f", got, c.hours)
			}
			if basis := strings.Join(p.Forecast.Basis, "; "); !strings.Contains(basis, c.basis) {
				t.Errorf("basis %q", basis)
			}
		})
	}
}

// TestALawSaysNothingOfWhatHasNoSize: what grows from nothing would take no time at
// its 0; that cell counts as the others of its phase in the mean.
func TestALawSaysNothingOfWhatHasNoSize(t *testing.T) {
	t.Parallel()
	sizes := make([]int, 16)
	for i := range sizes {
		sizes[i] = i
	}
	camp := load(t, nil, phaseSpec{name: "a", seeds: sizes, lr: "1", sizes: true})
	st := applied(t, camp, state.Completed)
	for i := range sizes {
		job := st.Jobs[camp.Phases[0].Address(i)]
		n, _ := strconv.Atoi(strings.TrimPrefix(camp.Phases[0].Key(i), "n="))
		if n < 3 {
			delete(st.Jobs, job.Address)
			continue
		}
		took(job, 60*math.Pow(float64(n), 1.5))
	}
	basis := strings.Join(planned(t, input(camp, st)).Forecast.Basis, "; ")
	if !strings.Contains(basis, "n=1 is beyond the 3 to 15 that ran") || strings.Contains(basis, "NaN") || strings.Contains(basis, "Inf") || !strings.Contains(basis, "a: mean of 13 runs") {
		t.Errorf("basis %q", basis)
	}
}

// took makes a completed job one of so many seconds.
func took(job *state.Job, seconds float64) {
	job.Attempts[0].Started, job.Attempts[0].Ended = now, now
	job.Attempts[0].Usage = &state.Usage{Elapsed: seconds}
}

// TestHistoryOfOtherWork: jobs that took seconds under one value of a param say
// nothing of its hundredfold, and the walltime counts; where the value varied, a law
// over it does. A seed or a count is never what explains a runtime.
func TestHistoryOfOtherWork(t *testing.T) {
	t.Parallel()
	seeds := []int{1, 2, 3, 4, 5, 6, 7, 8}
	for name, c := range map[string]struct {
		was, now []string // by cell, in turns
		axis     []int    // values that are added
		hours    float64
		basis    string
		not      string
	}{
		"one value, and another now":    {was: []string{"400"}, now: []string{"40000"}, hours: 8 * 0.5, basis: "a: not comparable: lr 400 → 40,000", not: "mean of"},
		"another word":                  {was: []string{"small"}, now: []string{"large"}, hours: 8 * 0.5, basis: "a: not comparable: lr small → large", not: "mean of"},
		"the same":                      {was: []string{"400"}, now: []string{"400"}, axis: []int{9, 10}, hours: 2 * 40.0 / 3600, basis: "a: mean of 8 runs"},
		"two values, and twice as much": {was: []string{"400", "800"}, now: []string{"1600"}, hours: 8 * 160.0 / 3600, basis: "0.1s·lr"},
		"two values, and far more":      {was: []string{"400", "800"}, now: []string{"40000"}, hours: 8 * 0.5, basis: "a: not comparable: lr 400 to 800 → 40,000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var st *state.State
			for k, lr := range c.was {
				camp := load(t, nil, phaseSpec{name: "a", seeds: seeds, lr: lr})
				part := applied(t, camp, state.Completed)
				if st == nil {
					st = part
				}
				maps.Copy(st.Definitions, part.Definitions)
				for i := range seeds {
					if i%len(c.was) != k {
						continue
					}
					job := part.Jobs[camp.Phases[0].Address(i)]
					seconds, err := strconv.ParseFloat(lr, 64)
					if err != nil {
						seconds = 400
					}
					took(job, seconds/10*(1+0.001*float64(i)))
					st.Jobs[job.Address] = job
				}
			}
			p := planned(t, input(load(t, nil, phaseSpec{name: "a", seeds: append(slices.Clone(seeds), c.axis...), lr: c.now[0]}), st))
			got := 0.0
			for _, l := range p.Forecast.Lines {
				if l.Unit == "cpu_hours" {
					got, _ = decimal.RequireFromString(l.Expected.Text).Float64()
				}
			}
			if math.Abs(got/c.hours-1) > 0.05 {
				t.Errorf("%.4f CPU-hours are expected, not %.4f", got, c.hours)
			}
			if basis := strings.Join(p.Forecast.Basis, "; "); !strings.Contains(basis, c.basis) || c.not != "" && strings.Contains(basis, c.not) {
				t.Errorf("basis %q", basis)
			}
			for _, n := range p.Notes {
				if strings.Contains(n, "used was") && c.not != "" {
					t.Errorf("note %q", n)
				}
			}
		})
	}
}

// TestAGrownAxisIsOtherWork: a size that never varied says nothing of a larger one,
// and goes on to speak for its own; seeds are more of the same.
func TestAGrownAxisIsOtherWork(t *testing.T) {
	t.Parallel()
	plan := func(sizes bool) (string, int) {
		camp := load(t, nil, phaseSpec{name: "a", seeds: []int{400}, lr: "1", sizes: sizes})
		st := applied(t, camp, state.Completed)
		for _, job := range st.Jobs {
			took(job, 14)
		}
		p := planned(t, input(load(t, nil, phaseSpec{name: "a", seeds: []int{400, 40000}, lr: "1", sizes: sizes}), st))
		return strings.Join(p.Forecast.Basis, "; "), len(p.Notes)
	}
	if basis, _ := plan(true); !strings.Contains(basis, "not comparable: n 400 → 40,000") {
		t.Errorf("a size: %q", basis)
	}
	if basis, _ := plan(false); !strings.Contains(basis, "as long as the one known run") {
		t.Errorf("a seed: %q", basis)
	}
}
