package systemtest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A prediction is a campaign of which a first part is run: the plan of the
// rest is compared with what the rest took. PLACE is where its phases go.
type prediction struct {
	name       string
	hcl        string // FIRST and ALL cells stand in it as N
	first, all int
}

// starting is what it takes to start and verify the jobs of the rest, one
// round after another: it does not shrink with jobs of seconds that stand for
// jobs of hours, and no plan counts it.
func (p prediction) starting() time.Duration {
	const round, slots = 50 * time.Millisecond, 8
	return round * time.Duration((p.all-p.first)*strings.Count(p.hcl, "phase \"")/slots+1)
}

// Sleeps of some seconds that differ from cell to cell, as work does.
const (
	even   = `sleep ${2.7 + cell.i * 7 % 10 * 0.06}`
	uneven = `sleep ${2.1 + cell.i * 37 % 10 * 0.18}`
)

func predictions() []prediction {
	job := func(name, command, more string) string {
		return fmt.Sprintf(`
phase %q {
  grid { axes = { i = range(1, N) } }
  PLACE
  %s
  job {
    command = "%s; echo > ${output.o}"
    resources {
      memory   = "20MiB"
      walltime = "2m"
    }
    output "o" { path = "%s-${cell.i}" }
    INPUT
  }
}`, name, more, command, name)
	}
	alone := func(name, command, more string) string {
		return strings.Replace(job(name, command, more), "INPUT", "", 1)
	}
	reads := func(name, command, input string) string {
		return strings.Replace(job(name, command, ""), "INPUT", input, 1)
	}
	again := "retry {\n    max_attempts = 3\n    on = [\"killed\"]\n  }"
	return []prediction{
		{"even", alone("a", even, ""), 17, 57},
		{"uneven", alone("a", uneven, ""), 17, 65},
		{"a cap", alone("a", uneven, "max_parallel = 3"), 13, 31},
		{"size decides", alone("a", "sleep ${cell.i * (0.11 + cell.i * 7 % 5 * 0.006)}", ""), 21, 41},
		{"cell by cell", alone("a", uneven, "") + reads("b", "sleep 2.4", "input \"x\" { from = phase.a.output.o }"), 13, 37},
		{"one that waits for all", alone("a", uneven, "") + strings.Replace(reads("b", "sleep 5", "input \"x\" { from_all = phase.a.output.o }"), "range(1, N)", "range(1, 5)", 1), 17, 57},
		{"one in six is killed once", alone("a", "[ $((${cell.i} % 6)) != 0 ] || [ $MUSTER_ATTEMPT != 1 ] || { sleep 1; kill -KILL $$; }; "+even, again), 25, 73},
		{"short", alone("a", "sleep ${1.1 + cell.i * 7 % 10 * 0.05}", ""), 17, 97},
		{"long and short", alone("a", "sleep ${cell.i % 2 == 0 ? 4 : 1.6}", ""), 17, 65},
		{"two that know nothing of one another", alone("a", uneven, "") + alone("b", even, ""), 13, 37},
	}
}

// TestPredictedLocal: through the queue of this machine, with history, the
// median error of walltime and core-hours is under 15 %, and what is planned
// as the 90th percentile holds in 9 of 10.
func TestPredictedLocal(t *testing.T) {
	list := predictions()
	errs, held := make([][]float64, len(list)), make([]bool, len(list))
	t.Run("campaigns", func(t *testing.T) {
		for i, p := range list {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel() // they sleep
				w := newWorld(t, "")
				errs[i], held[i] = w.predicted(p, "campaign \"c\" {}\nbackend \"local\" \"local\" {\n  cpus  = 8\n  slots = 8\n}\n"+strings.ReplaceAll(p.hcl, "PLACE", ""))
			})
		}
	})
	all, n := slices.Concat(errs...), 0
	slices.Sort(all)
	for _, ok := range held {
		if ok {
			n++
		}
	}
	if median := all[len(all)/2]; median > 0.15 {
		t.Errorf("the median error is %.0f %%", 100*median)
	}
	if n < len(list)*9/10 {
		t.Errorf("the 90th percentile held in %d of %d", n, len(list))
	}
}

// predicted runs the first part, plans the rest, runs it, and tells how far
// off the plan was.
func (w *world) predicted(p prediction, text string) (errs []float64, held bool) {
	w.t.Helper()
	w.write("campaign.muster.hcl", strings.ReplaceAll(text, "N)", strconv.Itoa(p.first)+")"))
	w.want(0, "", "apply", "-auto-approve")
	before := w.hours()
	w.write("campaign.muster.hcl", strings.ReplaceAll(text, "N)", strconv.Itoa(p.all)+")"))
	var plan struct {
		Cost []struct {
			Unit          string
			Expected, P90 struct{ Amount string }
		}
		Walltime struct {
			P50 float64 `json:"p50_seconds"`
			P90 float64 `json:"p90_seconds"`
		}
	}
	w.document(&plan, "plan", "-json")
	began := time.Now()
	w.want(0, "", "apply", "-auto-approve")
	took := w.lastEnd().Sub(began).Seconds()
	cost := w.hours() - before
	var expected, p90 float64
	for _, c := range plan.Cost {
		if c.Unit == "cpu_hours" {
			expected, _ = strconv.ParseFloat(c.Expected.Amount, 64)
			p90, _ = strconv.ParseFloat(c.P90.Amount, 64)
		}
	}
	errs = []float64{math.Abs(plan.Walltime.P50-took) / took, math.Abs(expected-cost) / cost}
	held = took-p.starting().Seconds() <= plan.Walltime.P90 && cost <= p90
	w.t.Logf("%-38s took %.1f s, planned %.1f to %.1f (%.0f %%); %.1f core-seconds, planned %.1f to %.1f (%.0f %%); p90 held: %v",
		p.name, took, plan.Walltime.P50, plan.Walltime.P90, 100*errs[0], cost*3600, expected*3600, p90*3600, 100*errs[1], held)
	return errs, held
}

// document decodes what a command prints as JSON.
func (w *world) document(to any, args ...string) {
	w.t.Helper()
	out, err := w.command(args...).Output()
	if err != nil {
		w.t.Fatalf("muster %v: %v\n%s", args, err, out)
	}
	if err := json.Unmarshal(out, to); err != nil {
		w.t.Fatalf("muster %v: %v\n%s", args, err, out)
	}
}

// hours are the core-hours of the ledger.
func (w *world) hours() float64 {
	w.t.Helper()
	var cost struct{ Total map[string]string }
	w.document(&cost, "cost", "-json")
	v, _ := strconv.ParseFloat(cost.Total["cpu_hours"], 64)
	return v
}

// lastEnd is when the last job ended.
func (w *world) lastEnd() time.Time {
	w.t.Helper()
	var report struct{ Ended time.Time }
	w.document(&report, "report", "-json")
	return report.Ended
}
