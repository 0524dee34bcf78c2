package rehearse_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// A held-back campaign: a first part of its cells is run, the plan of the rest
// is compared with what the rest took.
type heldBack struct {
	name   string
	pool   string // of the sim block
	jobs   string
	phases func(n int) string
	first  int
	all    int
	model  func(sim.Model) sim.Model // changes how launches go; nil = as declared
}

var gpu = func(cap string) string {
	return "gpus = 8\ngpu = \"A100\"\nmax_walltime = \"24h\"\nusd_per_gpu_hour = 1.5\n" + cap
}

func onGPU(name string, n int, more string) string {
	return strings.Replace(phase(name, n, more), "cpus     = 1", "gpus     = 1", 1)
}

var heldBacks = []heldBack{
	{name: "steady", pool: "slots = 6\nusd_per_hour = 1", jobs: "runtime = \"50m\"\nruntime_p90 = \"55m\"", first: 20, all: 140},
	{name: "spread", pool: "slots = 6\nusd_per_hour = 1", jobs: "runtime = \"50m\"\nruntime_p90 = \"80m\"", first: 30, all: 200},
	{name: "a queue", pool: gpu("wait = \"30m\"\nwait_p90 = \"45m\""), jobs: "runtime = \"70m\"\nruntime_p90 = \"90m\"", first: 30, all: 240,
		phases: func(n int) string { return onGPU("a", n, "") }},
	{name: "preempted", pool: gpu(""), jobs: "runtime = \"80m\"\nruntime_p90 = \"95m\"\nfails = { preempted = 0.1 }", first: 60, all: 300,
		phases: func(n int) string {
			return strings.Replace(onGPU("a", n, ""), "place {", "retry {\n    max_attempts = 6\n    on = [\"preempted\"]\n  }\n  place {", 1)
		}},
	{name: "two phases", pool: gpu(""), jobs: "runtime = \"40m\"\nruntime_p90 = \"55m\"", first: 24, all: 120,
		phases: func(n int) string {
			return onGPU("a", n, "") + onGPU("b", n, "input \"i\" { from = phase.a.output.o }")
		}},
	{name: "a cap", pool: "usd_per_hour = 0.2", jobs: "runtime = \"15m\"\nruntime_p90 = \"25m\"", first: 30, all: 300,
		phases: func(n int) string {
			return strings.Replace(phase("a", n, ""), "place {", "max_parallel = 12\n  place {", 1)
		}},
	{name: "one that waits for all", pool: "slots = 10\nusd_per_hour = 1", jobs: "runtime = \"30m\"\nruntime_p90 = \"40m\"", first: 30, all: 200,
		phases: func(n int) string {
			return phase("a", n, "") + phase("b", 4, "input \"i\" { from_all = phase.a.output.o }")
		}},
	{name: "machines that boot", pool: "word = \"offer\"\nslots = 8\nusd_per_hour = 0.4\nboot = \"2m\"", jobs: "runtime = \"55m\"\nruntime_p90 = \"70m\"", first: 24, all: 160},
	{name: "a bill by the hour", pool: "slots = 6\nusd_per_hour = 1\ngranularity = \"10m\"", jobs: "runtime = \"65m\"\nruntime_p90 = \"85m\"", first: 24, all: 150},
	{name: "size decides", pool: "slots = 8\nusd_per_hour = 1", jobs: "runtime = \"10m\"\nruntime_p90 = \"12m\"", first: 40, all: 200,
		phases: func(n int) string { return strings.Replace(phase("a", n, ""), "range(", "range(1, ", 1) },
		model: func(m sim.Model) sim.Model { // runtime grows with the cell's number
			return func(j *providers.Job, launch int) sim.Fate {
				f := m(j, launch)
				var i float64
				_, _ = fmt.Sscanf(j.Address, `phase.a["i=%g"]`, &i)
				f.Takes = time.Duration(float64(f.Takes) * math.Sqrt(i/20))
				return f
			}
		}},
}

// TestPredictedAgainstActual: once there is history, the median error of cost
// and walltime is under 15 %, and the 90th percentile holds in 9 of 10.
func TestPredictedAgainstActual(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics over hundreds of rehearsals; the race detector has others")
	}
	t.Parallel()
	var errs []float64
	held, rehearsed := 0, 0
	for _, h := range heldBacks {
		if h.phases == nil {
			h.phases = func(n int) string { return phase("a", n, "") }
		}
		y := newYard(t, campaign(h.pool, h.jobs, h.phases(h.first)))
		if h.model != nil {
			y.sim = sim.NewOf(y.clock, sim.Schema(), func(b providers.Backend) (sim.Site, error) {
				s, err := sim.SiteOf(b)
				if err == nil {
					s.Model = h.model(s.Model)
				}
				return s, err
			})
		}
		y.apply(0)
		before, _ := y.state.Spent(nil)
		y.write(campaign(h.pool, h.jobs, h.phases(h.all)))
		p, runs := y.rehearse(50, nil)
		began := y.clock.Now()
		o := y.apply(0)
		if o.Stopped != progress.None {
			t.Fatalf("%s: %+v", h.name, o)
		}
		after, _ := y.state.Spent(nil)
		cost, took := number(after["usd"])-number(before["usd"]), lastEnd(y.state).Sub(began)
		money := forecast.LineOf(p.Forecast.Lines, "usd")
		costErr := math.Abs(number(money.Expected.Text)-cost) / cost
		tookErr := math.Abs(float64(p.Forecast.Walltime.P50-took)) / float64(took)
		errs = append(errs, costErr, tookErr)
		ok := cost <= number(money.P90.Text) && took <= p.Forecast.Walltime.P90
		if ok {
			held++
		}
		rc, rt := rehearse.SpreadOf(runs, rehearse.Spent("usd")), rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
		if math.Abs(rc.P50-cost) <= 0.15*cost && math.Abs(rt.P50-took.Hours()) <= 0.15*took.Hours() {
			rehearsed++
		}
		t.Logf("%-22s cost $%.1f: planned $%s–%s (%.0f %%), rehearsed %.1f–%.1f; took %.1fh: planned %.1f–%.1fh (%.0f %%), rehearsed %.1f–%.1fh; p90 held %v", h.name,
			cost, money.Expected.Text, money.P90.Text, 100*costErr, rc.P50, rc.P90, took.Hours(), p.Forecast.Walltime.P50.Hours(), p.Forecast.Walltime.P90.Hours(), 100*tookErr, rt.P50, rt.P90, ok)
	}
	slices.Sort(errs)
	if median := errs[len(errs)/2]; median > 0.15 {
		t.Errorf("the median error is %.0f %%", 100*median)
	}
	if held < 9 {
		t.Errorf("the 90th percentile held in %d of %d", held, len(heldBacks))
	}
	if rehearsed < 8 {
		t.Errorf("the rehearsed median was within 15 %% in %d of %d", rehearsed, len(heldBacks))
	}
}

func lastEnd(st *state.State) (last time.Time) {
	for _, j := range st.Jobs {
		if a := j.Last(); a != nil && a.Ended.After(last) {
			last = a.Ended
		}
	}
	return last
}

func (y *yard) write(hcl string) {
	y.t.Helper()
	if err := os.WriteFile(filepath.Join(y.dir, "c.muster.hcl"), []byte("campaign \"c\" {}\n"+hcl), 0o644); err != nil {
		y.t.Fatal(err)
	}
}
