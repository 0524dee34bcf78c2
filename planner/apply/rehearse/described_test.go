package rehearse_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/rehearse"
)

// assumed is the stage's own account of the facts from which a yard's campaign
// is drawn.
func (y *yard) assumed() string {
	y.t.Helper()
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7})
	if err != nil {
		y.t.Fatal(err)
	}
	return strings.Join(stage.Assumed(), "\n")
}

// TestDeclaredSiteIsPlayed: where nothing was seen, a simulated backend goes as
// its block says: runtimes, failures, queue waits and their spread.
func TestDeclaredSiteIsPlayed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays over 200 rehearsals: statistics, with no goroutine that others lack")
	}
	t.Parallel()
	y := newYard(t, campaign("slots = 100\nusd_per_hour = 1", "runtime = \"30m\"\nfails = { preempted = 0.5 }", retried(phase("a", 200, ""), "preempted")))
	_, runs := y.rehearse(20, nil)
	retries := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return float64(r.Retries) })
	// Of 200 jobs, each with at most 5 launches of which half fail: 200·(1-0.5⁵)/0.5 launches.
	if want := 200*(1-math.Pow(0.5, 5))/0.5 - 200; math.Abs(retries.P50-want) > 0.1*want {
		t.Errorf("%g retries, of %g", retries.P50, want)
	}
	text := y.assumed()
	for _, want := range []string{"a: runtimes as backend.sim.x says: 30m", "a: failures as backend.sim.x says: preempted 50 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}

	// One job after another waits for hours in one of ten cases; the plan knows the median alone.
	y = newYard(t, campaign("slots = 100\nwait = \"1h\"\nwait_p90 = \"4h\"", "runtime = \"1h\"", phase("a", 1, "")))
	_, runs = y.rehearse(200, noFailures())
	took := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
	if took.P50 < 1.8 || took.P50 > 2.2 || took.P90 < 4 || took.P90 > 6 {
		t.Errorf("an hour behind a wait of one to four hours: p50 %.2f h, p90 %.2f h", took.P50, took.P90)
	}
}

// TestHistoryGoesBeforeTheBlock, and what is stated before both.
func TestHistoryGoesBeforeTheBlock(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 10\nusd_per_hour = 1", "runtime = \"1h\"", phase("a", 10, "")))
	y.apply(0)
	y.write(campaign("slots = 10\nusd_per_hour = 1", "runtime = \"3h\"\nfails = { nan = 1 }", phase("a", 30, "")))
	_, runs := y.rehearse(20, nil)
	if cost := rehearse.SpreadOf(runs, rehearse.Spent("usd")); cost.P50 < 18 || cost.P50 > 22 {
		t.Errorf("20 more jobs of an hour came to $%.2f", cost.P50)
	}
	if text := y.assumed(); !strings.Contains(text, "mean of 10 runs") || !strings.Contains(text, "no launch of 10 failed") || strings.Contains(text, "backend.sim.x") {
		t.Errorf("drawn from:\n%s", text)
	}
	if _, runs = y.rehearse(3, map[string]float64{"nan": 1}); runs[0].Done != 10 {
		t.Errorf("with all launches failing %d were done", runs[0].Done)
	}
}

// TestRehearsalIsTheApply: with the seed of chance left out, a rehearsal of a
// simulated campaign is its apply: outages, price changes, overflow and budget.
func TestRehearsalIsTheApply(t *testing.T) {
	t.Parallel()
	y := newYard(t, splitUnderBudget)
	_, runs := y.rehearse(2, noFailures())
	for _, r := range runs {
		if r.Spent["usd"] != "8.75" || r.Took != 22*time.Hour || r.Done != 60 {
			t.Errorf("%+v", r)
		}
	}
}

const expecting = `
  smoke {
    walltime = "30m"
    expect {
      condition = metric.loss < 0.5
      message   = "the loss is high"
    }
  }
  place {`

// measured is a phase whose smoke is expected to say something.
func measured(n int) string {
	return strings.Replace(phase("a", n, "metric \"loss\" {\n      output = \"o\"\n      json = \"/loss\"\n    }"), "\n  place {", expecting, 1)
}

// TestExpectations: what a smoke says is assumed to be as expected, or fails as
// often as stated or seen; where a block says the metrics, they are judged.
func TestExpectations(t *testing.T) {
	t.Parallel()
	held := func(y *yard, unexpected *float64) (n int, text string) {
		c, p, in := y.plan()
		stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7, Unexpected: unexpected})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			r, err := stage.Play(context.Background(), i)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case len(r.Smoked) == 1 && r.Smoked[0] == "a" && r.Done == 0 && r.Blocked == 4:
				n++
			case len(r.Smoked) > 0 || r.Done+r.Failed != 4:
				t.Fatalf("%+v", r)
			}
		}
		return n, strings.Join(stage.Assumed(), "\n")
	}
	third, all := 1.0/3, 1.0
	for name, c := range map[string]struct {
		jobs        string
		stated      *float64
		least, most int
		text        string
	}{
		"assumed":           {"", nil, 0, 0, "a: smokes meet their expectations, as assumed"},
		"all as stated":     {"", &all, 60, 60, "a: smokes miss their expectations, as stated: 100 %"},
		"a third as stated": {"", &third, 12, 28, "a: smokes miss their expectations, as stated: 33.3 %"},
		"a block says well": {"metrics = { loss = 0.1 }", nil, 0, 0, "a: smokes print the metrics that backend.sim.x states, and are judged by them"},
		"a block says ill":  {"metrics = { loss = 3 }", nil, 60, 60, "a: smokes print the metrics that backend.sim.x states, and are judged by them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, text := held(newYard(t, campaign("slots = 4", c.jobs, measured(4))), c.stated)
			if n < c.least || n > c.most {
				t.Errorf("held in %d of 60", n)
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("%q is not in\n%s", c.text, text)
			}
		})
	}
}

// TestEndingsNameTheSmoke that failed.
func TestEndingsNameTheSmoke(t *testing.T) {
	t.Parallel()
	_, runs := newYard(t, campaign("slots = 4", "", measured(4))).rehearse(3, map[string]float64{"nan": 1})
	if e := rehearse.Endings(runs); len(e) != 1 || e[0].Count != 3 || e[0].Why != "a smoke of phase.a failed, and its phase was held" || e[0].Max != 4 {
		t.Errorf("%+v", e)
	}
}

// TestASmokeIsShorter: one whose phase runs longer than its walltime ends within it.
func TestASmokeIsShorter(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 4", "runtime = \"2h\"\nmetrics = { loss = 0.1 }", measured(4)))
	if _, runs := y.rehearse(2, noFailures()); runs[0].Done != 4 {
		t.Errorf("rehearsed: %+v", runs[0])
	}
	if o := y.apply(0); o.Done != 4 {
		t.Errorf("applied: %+v", o)
	}
}
