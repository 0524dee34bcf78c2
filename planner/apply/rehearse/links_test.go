package rehearse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/transfers"
)

// apart is a campaign whose second phase reads, elsewhere, what the first made:
// four jobs at a time of half an hour each, 30 GiB from each of the first.
func apart(typ, more string, n int) string {
	return fmt.Sprintf(`
backend "sim" "x" {
  filesystem = "x"
  bandwidth  = "500MiB"
  pool "p" { slots = 4 }
  jobs {
    runtime     = "30m"
    output_size = "30GiB"
  }
}
backend %q "y" {
  filesystem = "y"
  %s
  pool "p" { slots = 4 }
  jobs { runtime = "30m" }
}`, typ, more) + phase("a", n, "") + strings.ReplaceAll(phase("b", n, "input \"i\" { from = phase.a.output.o }"), "sim.x", typ+".y")
}

// played plays once, without failures, and tells what was drawn from.
func (y *yard) played(bandwidth int64) (rehearse.Result, string) {
	y.t.Helper()
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7, Fails: noFailures(), Bandwidth: bandwidth})
	if err != nil {
		y.t.Fatal(err)
	}
	r, err := stage.Play(context.Background(), 0)
	if err != nil {
		y.t.Fatal(err)
	}
	return r, strings.Join(stage.Assumed(), "\n")
}

// TestFilesMoveInTime: what is read elsewhere is carried there first, by the
// slower of two links, one file after another; a rehearsal and the apply take as
// long.
func TestFilesMoveInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bandwidth string
		n         int
		took      time.Duration
		text      string
	}{
		// 30 GiB at 50 MiB a second are 614.4 s.
		"one file":        {"bandwidth = \"50MiB\"", 1, time.Hour + 614400*time.Millisecond, "b: 1 file from sim.x to sim.y, 30GiB each as backend.sim.x says, at 50MiB a second (sim.y, as it says)"},
		"four on a link":  {"bandwidth = \"50MiB\"", 4, time.Hour + 4*614400*time.Millisecond, "b: 4 files"},
		"the slower link": {"bandwidth = \"5000MiB\"", 1, time.Hour + 61440*time.Millisecond, "at 500MiB a second (sim.x, as it says)"},
		"the other's own": {"", 1, time.Hour + 61440*time.Millisecond, "at 500MiB a second (sim.x, as it says)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, apart("sim", c.bandwidth, c.n))
			r, text := y.played(0)
			if r.Done != 2*c.n || r.Took != c.took {
				t.Errorf("rehearsed in %s: %+v, want %s", r.Took, r, c.took)
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("%q is not in\n%s", c.text, text)
			}
			began := y.clock.Now()
			if o := y.apply(0); o.Done != 2*c.n {
				t.Fatalf("%+v", o)
			}
			if took := lastEnd(y.state).Sub(began); took != c.took {
				t.Errorf("applied in %s, want %s", took, c.took)
			}
		})
	}
}

// TestBandwidthOfRealPlaces is assumed, stated, or what was measured.
func TestBandwidthOfRealPlaces(t *testing.T) {
	t.Parallel()
	y := newYard(t, apart("ssh", "bandwidth = \"100MiB\"", 2))
	hour := 60 * time.Minute
	half := func(bytes int64) time.Duration { // the second job of b waits for two files of 30 GiB, and has no history
		return 30*time.Minute + time.Duration(float64(60<<30)/float64(bytes)*float64(time.Second))
	}
	r, text := y.played(0)
	if want := half(transfers.AssumedBandwidth); r.Took < want+hour || !strings.Contains(text, "at 10MiB a second (ssh.y, as assumed: none was measured)") {
		t.Errorf("took %s, more than %s is due\n%s", r.Took, want, text)
	}
	r, text = y.played(200 << 20)
	if r.Took > half(200<<20)+4*hour || !strings.Contains(text, "at 200MiB a second (ssh.y, as stated)") {
		t.Errorf("took %s\n%s", r.Took, text)
	}
	if o := y.apply(0); o.Done != 4 {
		t.Fatalf("%+v", o)
	}
	y.write(apart("ssh", "bandwidth = \"100MiB\"", 4))
	if _, text = y.played(0); !strings.Contains(text, "b: 2 files from sim.x to ssh.y, 30GiB each as seen, at 100MiB a second (ssh.y, as measured)") {
		t.Errorf("drawn from\n%s", text)
	}
}

// TestWhatLiesElsewhereMovesFirst: files of an earlier run, too; a copy that was
// made is not made again.
func TestWhatLiesElsewhereMovesFirst(t *testing.T) {
	t.Parallel()
	hcl := apart("sim", "bandwidth = \"50MiB\"", 1)
	at := strings.Index(hcl, "\nphase \"b\"")
	y := newYard(t, hcl[:at]+strings.ReplaceAll(phase("z", 1, ""), "sim.x", "sim.y"))
	y.apply(0)
	y.write(hcl)
	r, text := y.played(0)
	if want := 30*time.Minute + 614400*time.Millisecond; r.Took != want {
		t.Errorf("took %s, want %s", r.Took, want)
	}
	if want := "b: 1 file from sim.x to sim.y, 30GiB, at 50MiB a second"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	y.apply(0)
	y.write(hcl + strings.ReplaceAll(phase("c", 1, "input \"i\" { from = phase.a.output.o }"), "sim.x", "sim.y"))
	if r, text = y.played(0); r.Took != 30*time.Minute || strings.Contains(text, "from sim.x") {
		t.Errorf("with a copy there it took %s\n%s", r.Took, text)
	}
}

// TestThePlanCountsWhatMoves: with files that take longer than the jobs, the
// plan's walltime, its critical path and its rows are those of a rehearsal.
func TestThePlanCountsWhatMoves(t *testing.T) {
	t.Parallel()
	for name, bandwidth := range map[string]string{"a slow link": "50MiB", "a fast one": "2000MiB"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hcl := func(n int) string { return apart("sim", "bandwidth = \""+bandwidth+"\"", n) }
			y := newYard(t, hcl(4))
			y.apply(0)
			y.write(hcl(24))
			p, runs := y.rehearse(20, nil)
			took := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Hours() })
			plan := p.Forecast.Walltime
			if ratio := plan.P50.Hours() / took.P50; ratio < 0.95 || ratio > 1.05 {
				t.Errorf("planned %s, rehearsed %.2fh", plan.P50, took.P50)
			}
			if ratio := plan.P90.Hours() / took.P90; ratio < 0.95 || ratio > 1.2 {
				t.Errorf("p90 planned %s, rehearsed %.2fh", plan.P90, took.P90)
			}
			const way = "a.o to sim.y"
			if got := strings.Join(p.Forecast.Critical, " → "); got != "a → "+way+" → b" {
				t.Errorf("critical path %s", got)
			}
			var rows []string
			for _, s := range p.Forecast.Phases {
				rows = append(rows, s.Phase)
			}
			if got := strings.Join(rows, ", "); got != "a, "+way+", b" {
				t.Errorf("rows %s", got)
			}
			if want := way + ": 20 outputs of 30GiB as seen, at "; !strings.Contains(strings.Join(p.Forecast.Basis, "\n"), want) {
				t.Errorf("%q is not among\n%s", want, strings.Join(p.Forecast.Basis, "\n"))
			}
		})
	}
}
