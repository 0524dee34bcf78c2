package rehearse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

var start = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// A yard is a campaign on simulated backends, and its state.
type yard struct {
	t     testing.TB
	dir   string
	clock *clock.Virtual
	sim   *sim.Sim
	state *state.State
	rents bool // the simulated machines serve one job after another
}

func newYard(t testing.TB, hcl string) *yard {
	t.Helper()
	y := &yard{t: t, dir: t.TempDir(), clock: clock.NewVirtual(start), state: state.New("c")}
	y.sim = sim.New(y.clock)
	if err := os.WriteFile(filepath.Join(y.dir, "c.muster.hcl"), []byte("campaign \"c\" {}\n"+hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	return y
}

// plan plans as the command does, and tells with what.
func (y *yard) plan() (*lang.Campaign, *planner.Plan, planner.Input) {
	y.t.Helper()
	c, diags := lang.Load(lang.LoadOptions{Dir: y.dir, Schemas: map[string]offer.Schema{"sim": sim.Schema(), "ssh": as("ssh"), "local": {Type: "local"}}})
	if diags.HasErrors() {
		y.t.Fatal(diags.Err())
	}
	r := refresh.Observe(context.Background(), refresh.Input{Campaign: c, State: y.state, Provider: func(string) (providers.Provider, error) { return y.sim, nil }, Now: y.clock.Now(), Refresh: true})
	in := planner.Input{Campaign: c, State: y.state, Observed: r.Observed, Pools: r.Pools, Quotes: r.Quotes, Can: r.Can, Now: y.clock.Now()}
	if can := in.Can["sim"]; y.rents {
		can.Rents = true
		in.Can = map[string]offer.Capabilities{"sim": can}
	}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		y.t.Fatal(diags.Err())
	}
	return c, p, in
}

// as is a simulated backend that goes for one of another type.
func as(typ string) offer.Schema {
	s := sim.Schema()
	s.Type = typ
	return s
}

// apply applies in simulated time, until its end or until stop is over.
func (y *yard) apply(stop time.Duration) progress.Outcome {
	y.t.Helper()
	c, p, _ := y.plan()
	v := y.clock
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var o progress.Outcome
	var err error
	v.Run(func() {
		over := false
		if stop > 0 {
			end, _ := v.Timer(stop)
			v.Go(func() {
				v.Park(func() bool { return len(end) > 0 || over })
				cancel()
			})
		}
		o, err = apply.Run(ctx, apply.Config{Plan: p, Campaign: c, Session: &session{y.state}, Time: v, Environ: []string{},
			Provider: func(string) (providers.Provider, error) { return y.sim, nil }})
		over = true
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return o
}

type session struct{ st *state.State }

func (m *session) State() *state.State         { return m.st }
func (m *session) Fence() uint64               { return 1 }
func (m *session) Holder() string              { return "" }
func (m *session) Sync(context.Context) error  { return nil }
func (m *session) Lost() <-chan struct{}       { return nil }
func (m *session) Close(context.Context) error { return nil }
func (m *session) Append(events ...state.Event) error {
	for _, ev := range events {
		m.st.Apply(ev)
	}
	return nil
}

// rehearse plays a number of times, several at once.
func (y *yard) rehearse(n int, fails map[string]float64) (*planner.Plan, []rehearse.Result) {
	y.t.Helper()
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7, Fails: fails})
	if err != nil {
		y.t.Fatal(err)
	}
	var done atomic.Int64
	runs, err := stage.PlayAll(context.Background(), n, &done)
	if err != nil {
		y.t.Fatal(err)
	}
	if done.Load() != int64(n) || len(runs) != n {
		y.t.Fatalf("%d of %d are counted, and %d told", done.Load(), n, len(runs))
	}
	return p, runs
}

func noFailures() map[string]float64 { return map[string]float64{} }

func campaign(pool, jobs, phases string) string {
	return fmt.Sprintf("backend \"sim\" \"x\" {\n pool \"p\" {\n%s\n }\n jobs {\n%s\n }\n}\n%s", pool, jobs, phases)
}

func phase(name string, n int, more string) string {
	return fmt.Sprintf(`
phase %q {
  grid { axes = { i = range(%d) } }
  place { candidates = [backend.sim.x] }
  job {
    command = "x ${cell.i} > ${output.o}"
    resources {
      cpus     = 1
      walltime = "4h"
    }
    output "o" { path = "%s-${cell.i}" }
    %s
  }
}`, name, n, name, more)
}

// TestRehearsalAndForecastAgree: where both assume the same, the median of
// many rehearsals is the plan's expectation, and their 90th percentile the
// plan's, within 6 %.
func TestRehearsalAndForecastAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 700 rehearsals: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		hcl string
	}{
		"one wide phase":             {campaign("slots = 8\nusd_per_hour = 0.5", "", phase("a", 64, ""))},
		"a queue":                    {campaign("slots = 5\nwait = \"40m\"\nusd_per_hour = 0.5", "", phase("a", 60, ""))},
		"a bill by the hour":         {campaign("slots = 4\nusd_per_hour = 2", "", phase("a", 40, ""))},
		"a machine's cores":          {campaign("word = \"machine\"\ncpus = 4\nusd_per_hour = 0.5", "", phase("a", 30, ""))},
		"two phases, cell by cell":   {campaign("slots = 8\nusd_per_hour = 0.5", "", phase("a", 32, "")+phase("b", 32, "input \"i\" { from = phase.a.output.o }"))},
		"a phase that waits for all": {campaign("slots = 8\nusd_per_hour = 0.5", "", phase("a", 32, "")+phase("b", 1, "input \"i\" { from_all = phase.a.output.o }"))},
		"max_parallel":               {campaign("usd_per_hour = 0.5", "", strings.Replace(phase("a", 30, ""), "place {", "max_parallel = 6\n  place {", 1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, runs := newYard(t, c.hcl).rehearse(100, noFailures())
			money := forecast.LineOf(p.Forecast.Lines, "usd")
			near(t, "median cost", rehearse.SpreadOf(runs, rehearse.Spent("usd")).P50, number(money.Expected.Text), 0.06)
			took := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
			near(t, "median walltime", took.P50, p.Forecast.Walltime.P50.Hours(), 0.06)
			near(t, "p90 of the cost", rehearse.SpreadOf(runs, rehearse.Spent("usd")).P90, number(money.P90.Text), 0.06)
			near(t, "p90 of the walltime", took.P90, p.Forecast.Walltime.P90.Hours(), 0.06)
		})
	}
}

func number(text string) (f float64) {
	_, _ = fmt.Sscan(text, &f)
	return f
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.Abs(got-want) > by*want {
		t.Errorf("%s: %.3f rehearsed, %.3f planned", what, got, want)
	}
}

// TestTheSameSeedIsTheSameRehearsal, whatever is played beside it.
func TestTheSameSeedIsTheSameRehearsal(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 3\nwait = \"10m\"\nusd_per_hour = 1", "", phase("a", 20, "")+phase("b", 20, "input \"i\" { from = phase.a.output.o }")))
	fails := map[string]float64{"preempted": 0.2, "nan": 0.05}
	_, one := y.rehearse(12, fails)
	_, two := y.rehearse(12, fails)
	if a, b := text(one), text(two); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := text(one[0]), text(one[1]); a == b {
		t.Errorf("the first and the second are alike: %s", a)
	}
}

func text(v any) string { b, _ := json.Marshal(v); return string(b) }

// TestBudgetsStopRehearsals as they would stop the apply.
func TestBudgetsStopRehearsals(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 4\nusd_per_hour = 1", "", phase("a", 20, "")+`
budget "b" {
  limits = { usd = 100 }
}`))
	p, runs := y.rehearse(40, map[string]float64{"nan": 0.1})
	if p.BudgetBroken() {
		t.Fatal("the plan passes its budget")
	}
	for i, r := range runs {
		if got := rehearse.Spent("usd")(r); got > 100 {
			t.Errorf("rehearsal %d spent $%.2f", i, got)
		}
	}
	y = newYard(t, campaign("slots = 20\nusd_per_hour = 1", "", phase("a", 20, "")+`
budget "b" {
  limits = { usd = 81 }
}`))
	_, all := y.rehearse(1, noFailures())
	if all[0].Done != 20 {
		t.Errorf("one budget for all at their ceiling: %+v", all[0])
	}
}

func TestDeclaredFailures(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 50", "", phase("a", 50, "")+phase("b", 50, "input \"i\" { from = phase.a.output.o }")))
	_, runs := y.rehearse(20, map[string]float64{"nan": 1})
	for _, r := range runs {
		if r.Done != 0 || r.Failed == 0 || len(r.Open) != 1 || r.Open[0] != "a" {
			t.Fatalf("%+v", r)
		}
	}
	if e := rehearse.Endings(runs); len(e) != 1 || e[0].Count != 20 || e[0].Why != "the breaker of phase.a opened" {
		t.Errorf("%+v", e)
	}
}

// TestHistoryIsDrawnFrom: the rest of a campaign is rehearsed with the results
// of its first part, in flight jobs included, and the state is left alone.
func TestHistoryIsDrawnFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 50 rehearsals of 200 jobs: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	y := newYard(t, campaign("slots = 10\nusd_per_hour = 1", "runtime = \"60m\"\nruntime_p90 = \"75m\"", phase("a", 200, "")))
	o := y.apply(10*time.Hour + 20*time.Minute)
	if o.Done < 60 || o.Running == 0 {
		t.Fatalf("%+v", o)
	}
	before := text(y.state)
	_, runs := y.rehearse(50, nil)
	if text(y.state) != before {
		t.Error("the state changed")
	}
	left := float64(200 - o.Done)
	cost := rehearse.SpreadOf(runs, rehearse.Spent("usd"))
	// The rest at the observed mean, but for what runs already; lognormal with
	// that spread has a mean 1.5 % above its median.
	if want := left * 1.015; math.Abs(cost.P50-want) > 0.08*want {
		t.Errorf("rehearsed $%.1f for %.0f jobs of about an hour", cost.P50, left)
	}
	took := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
	if took.P50 < left/10*0.95 || took.P50 > left/10*1.25 {
		t.Errorf("rehearsed %.1f h for %.0f jobs in tens", took.P50, left)
	}
	for _, r := range runs {
		if r.Done != 200 || r.Failed != 0 {
			t.Fatalf("%+v", r)
		}
	}
	rest := y.apply(0)
	if rest.Done+rest.Failed != 200 {
		t.Errorf("%+v", rest)
	}
}

// TestMachinesFailByTheHour: without history a launch is lost with its machines
// as often as these are held: by how long it takes, and by how many there are.
func TestMachinesFailByTheHour(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 180 rehearsals of 100 jobs: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	lost := func(n int, walltime, nodes string) (failed float64) {
		hcl := strings.Replace(phase("a", n, ""), "walltime = \"4h\"", "walltime = \""+walltime+"\"\n      nodes = "+nodes, 1)
		hcl = strings.Replace(hcl, "  job {", "  retry {\n    on = [\"node_failure\"]\n    max_attempts = 1\n  }\n  job {", 1)
		_, runs := newYard(t, campaign("nodes = 4000\ncpus = 1", "", hcl)).rehearse(60, nil)
		for _, r := range runs {
			failed += float64(r.Failed) / float64(len(runs)*n)
		}
		return failed
	}
	// Half the walltime in the median, off together by a factor e^(0.54 z).
	short, long, wide := lost(100, "2h", "1"), lost(100, "96h", "1"), lost(100, "96h", "4")
	t.Logf("lost: %.5f of an hour, %.4f of two days, %.4f of these on four machines", short, long, wide)
	if short > 0.002 || long < 0.008 || long > 0.03 || wide < 3*long || wide > 5*long {
		t.Errorf("lost: %.5f of an hour, %.4f of two days, %.4f of these on four machines", short, long, wide)
	}
}

// TestAskedToEndBeforeTheWalltime: where a budget has a queue end launches a
// little before their walltime, one that is drawn to take all of it does well,
// too: walltimes hold as long as nothing else is known.
func TestAskedToEndBeforeTheWalltime(t *testing.T) {
	t.Parallel()
	hcl := strings.Replace(phase("a", 8, ""), "4h", "20m", 1) + "\nbudget \"b\" {\n  limits = { cpu_hours = 50 }\n}"
	c, p, in := newYard(t, campaign("slots = 8", "", hcl)).plan()
	in.Can["sim"] = offer.Capabilities{HostQueue: true}
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: in.State, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7, Fails: noFailures()})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := stage.PlayAll(t.Context(), 50, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs {
		if r.Done != 8 {
			t.Errorf("rehearsal %d: %+v", i, r)
		}
	}
}

// TestTheLongestStartFirst: the engine starts the longest jobs of a phase first,
// and phases in the order of the campaign as ever.
func TestTheLongestStartFirst(t *testing.T) {
	t.Parallel()
	hcl := strings.ReplaceAll(phase("a", 6, "")+phase("b", 4, ""), "\"4h\"", "\"${cell.i + 1}h\"")
	y := newYard(t, campaign("slots = 1", "runtime = \"10m\"", hcl))
	y.apply(0)
	jobs := slices.Collect(maps.Values(y.state.Jobs))
	slices.SortFunc(jobs, func(a, b *state.Job) int { return a.Last().Started.Compare(b.Last().Started) })
	var got []string
	for _, j := range jobs {
		got = append(got, strings.NewReplacer("phase.", "", "[\"i=", "", "\"]", "").Replace(j.Address))
	}
	if want := "a5 a4 a3 a2 a1 a0 b3 b2 b1 b0"; strings.Join(got, " ") != want {
		t.Errorf("started %v, not %s", got, want)
	}
}
