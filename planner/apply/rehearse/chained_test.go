package rehearse_test

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/forecast"
)

// chained is a phase of so many jobs with a walltime longer than its pool's, and
// a checkpoint, so that each job is launched in segments.
func chained(n int) string {
	hcl := strings.Replace(phase("a", n, ""), "place {", `checkpoint {
    path     = "ck/${cell.key}"
    interval = "10m"
  }
  place {`, 1)
	hcl = strings.Replace(hcl, "walltime = \"4h\"", "walltime = \"50h\"", 1)
	return strings.Replace(hcl, "> ${output.o}", "--resume ${checkpoint} > ${output.o}", 1)
}

// TestChainedSegmentsAreOneJob: jobs that were cut into segments predict the whole of the next
// job, and each segment's wait: the plan, a rehearsal and the apply take and cost the same.
func TestChainedSegmentsAreOneJob(t *testing.T) {
	t.Parallel()
	long := "runtime = \"40h\"\nruntime_p90 = \"42h\""
	for name, c := range map[string]struct {
		pool, jobs string
		first, all int
	}{
		"a queue of 3 h":            {"slots = 4\nmax_walltime = \"24h\"\nwait = \"3h\"\nusd_per_hour = 1", long, 4, 24},
		"a queue of 12 h":           {"slots = 4\nmax_walltime = \"24h\"\nwait = \"12h\"\nusd_per_hour = 1", long, 4, 24},
		"a queue with room for all": {"max_walltime = \"24h\"\nwait = \"12h\"\nusd_per_hour = 1", long, 4, 24},
		"no queue":                  {"slots = 4\nmax_walltime = \"24h\"\nusd_per_hour = 1", long, 4, 24},
		"over in one segment":       {"slots = 4\nmax_walltime = \"24h\"\nwait = \"3h\"\nusd_per_hour = 1", "runtime = \"10h\"\nruntime_p90 = \"12h\"", 6, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, campaign(c.pool, c.jobs, chained(c.first)))
			if o := y.apply(0); o.Done != c.first {
				t.Fatalf("%+v", o)
			}
			before, _ := y.state.Spent(nil)
			y.write(campaign(c.pool, c.jobs, chained(c.all)))
			p, runs := y.rehearse(30, nil)
			cost, took := rehearse.SpreadOf(runs, rehearse.Spent("usd")), rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
			money, span := number(forecast.LineOf(p.Forecast.Lines, "usd").Expected.Text), p.Forecast.Walltime.P50.Hours()
			began := y.clock.Now()
			if o := y.apply(0); o.Done != c.all {
				t.Fatalf("%+v", o)
			}
			after, _ := y.state.Spent(nil)
			for _, f := range []struct {
				what          string
				planned, seen float64
			}{
				{"money, rehearsed", money, cost.P50}, {"money, applied", money, number(after["usd"]) - number(before["usd"])},
				{"time, rehearsed", span, took.P50}, {"time, applied", span, lastEnd(y.state).Sub(began).Hours()},
			} {
				t.Logf("%s: %.1f planned, %.1f seen", f.what, f.planned, f.seen)
				if ratio := f.planned / f.seen; ratio < 0.9 || ratio > 1.1 {
					t.Errorf("%s: %.1f planned, %.1f seen: a ratio of %.2f", f.what, f.planned, f.seen, ratio)
				}
			}
		})
	}
}
