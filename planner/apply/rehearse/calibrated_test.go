package rehearse_test

import (
	"math"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/forecast"
)

// retried gives the phases of a campaign a retry.
func retried(hcl, on string) string {
	return strings.ReplaceAll(hcl, "place {", "retry {\n    max_attempts = 5\n    on = [\""+on+"\"]\n  }\n  place {")
}

// TestForecastIsCalibrated: with history, the forecast's p50 and p90 of money
// and of time are those of a hundred rehearsals within the ratios stated: the
// engine itself, each job drawn by itself, is the oracle of what the forecast
// works out in one pass.
func TestForecastIsCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 1,300 rehearsals: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	wide := "runtime = \"30m\"\nruntime_p90 = \"75m\""
	for name, c := range map[string]struct {
		pool, jobs string
		phases     func(n int) string
		first, all int
	}{
		"many jobs of wide spread":        {"slots = 6\nusd_per_hour = 1", wide, nil, 40, 300},
		"all at once":                     {"usd_per_hour = 1", wide, nil, 40, 120},
		"few":                             {"slots = 4\nusd_per_hour = 1", wide, nil, 20, 32},
		"three seen":                      {"slots = 4\nusd_per_hour = 1", "runtime = \"30m\"\nruntime_p90 = \"40m\"", nil, 3, 60},
		"failed launches end early":       {"slots = 6\nusd_per_hour = 1", "runtime = \"60m\"\nruntime_p90 = \"75m\"\nfails = { preempted = 0.25 }", func(n int) string { return retried(phase("a", n, ""), "preempted") }, 60, 260},
		"a queue that takes 8 at a time":  {"slots = 8\nmax_submit = 8\nwait = \"30m\"\nusd_per_hour = 1", wide, nil, 24, 140},
		"machines that boot for each job": {"word = \"offer\"\nslots = 6\nboot = \"10m\"\nusd_per_hour = 1", wide, nil, 24, 120},
		"a bill by whole hours":           {"slots = 6\nusd_per_hour = 1\ngranularity = \"1h\"", wide, nil, 24, 120},
		"cell by cell": {"slots = 8\nusd_per_hour = 1", wide, func(n int) string {
			return phase("a", n, "") + phase("b", n, "input \"i\" { from = phase.a.output.o }")
		}, 24, 100},
		"waits that differ": {"slots = 12\nmax_submit = 20\nwait = \"2h\"\nwait_p90 = \"5h\"\nusd_per_hour = 1", "runtime = \"30m\"\nruntime_p90 = \"50m\"", nil, 30, 200},
		"smokes and a pilot": {"slots = 6\nusd_per_hour = 1", "runtime = \"30m\"\nruntime_p90 = \"50m\"", func(n int) string {
			return strings.Replace(phase("a", n, ""), "place {", "smoke { cells = \"ends\" }\n  pilot { cells = \"first\" }\n  place {", 1)
		}, 20, 80},
		"failed launches that ended late": {"slots = 6\nwait = \"20m\"\nusd_per_hour = 1", "runtime = \"30m\"\nruntime_p90 = \"50m\"\nfails = { preempted = 0.2 }", func(n int) string {
			return strings.Replace(retried(phase("a", n, ""), "preempted"), "max_attempts", "delay = \"10m\"\n    max_attempts", 1)
		}, 40, 200},
		"one waits for all": {"slots = 50\nusd_per_hour = 1", wide, func(n int) string {
			return phase("a", n, "") + phase("b", 2, "input \"i\" { from_all = phase.a.output.o }")
		}, 30, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.phases == nil {
				c.phases = func(n int) string { return phase("a", n, "") }
			}
			y := newYard(t, campaign(c.pool, c.jobs, c.phases(c.first)))
			y.apply(0)
			y.write(campaign(c.pool, c.jobs, c.phases(c.all)))
			y.calibrated()
		})
	}
}

// TestSharedMachinesAreCalibrated: the same where a rented machine serves one job after
// another, and is billed, boot and hold included, once.
func TestSharedMachinesAreCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 300 rehearsals: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	const machines = "word = \"offer\"\nnodes = 3\ngpus = 1\ngpu = \"A100\"\nboot = \"10m\"\nusd_per_hour = 1"
	for name, c := range map[string]struct {
		pool string
		n    int
	}{
		"by the second":  {machines, 60},
		"by whole hours": {machines + "\ngranularity = \"1h\"", 60},
		"one job each":   {machines, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobs := "runtime = \"10m\"\nruntime_p90 = \"14m\""
			y := newYard(t, campaign(c.pool, jobs, phase("a", 20, "")))
			y.apply(0)
			y.rents = true
			y.write(campaign(c.pool, jobs, phase("a", 20+c.n, "")))
			y.calibrated()
		})
	}
}

// calibrated holds the forecast of a yard's campaign against a hundred rehearsals.
func (y *yard) calibrated() {
	y.t.Helper()
	p, runs := y.rehearse(100, nil)
	money, span := forecast.LineOf(p.Forecast.Lines, "usd"), p.Forecast.Walltime
	cost, took := rehearse.SpreadOf(runs, rehearse.Spent("usd")), rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
	for _, f := range []struct {
		what              string
		planned, played   float64
		atLeast, atMostBy float64
	}{
		{"expected money", number(money.Expected.Text), cost.P50, 0.92, 1.08},
		{"p90 of money", number(money.P90.Text), cost.P90, 0.95, 1.15},
		{"expected time", span.P50.Hours(), took.P50, 0.90, 1.10},
		{"p90 of time", span.P90.Hours(), took.P90, 0.90, 1.20},
	} {
		ratio := f.planned / f.played
		y.t.Logf("%-15s planned %7.2f, rehearsed %7.2f: %.2f", f.what, f.planned, f.played, ratio)
		if math.IsNaN(ratio) || ratio < f.atLeast || ratio > f.atMostBy {
			y.t.Errorf("%s: %.2f planned, %.2f rehearsed: a ratio of %.2f", f.what, f.planned, f.played, ratio)
		}
	}
}
