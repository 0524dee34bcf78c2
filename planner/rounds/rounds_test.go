package rounds

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var began = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// campaign is one round over cpus and size, three tasks each, judged by JUDGE.
const campaign = `campaign "c" {}
phase "one" {
  grid { axes = { cpus = [1, 2], size = [1, 2], task = [1, 2, 3] } }
  trial {
    hypothesis = "h"
    varies     = ["cpus", "size"]
    baseline   = { cpus = 2, size = 1 }
    JUDGE
  }
  job {
    command = "x ${cell.task} ${cell.size} > ${output.o}"
    resources { cpus = cell.cpus }
    output "o" { path = "o/${cell.cpus}-${cell.size}-${cell.task}" }
    metric "loss" {
      output = "o"
      json   = "/loss"
    }
  }
}
phase "two" {
  grid { axes = { size = [1, 2] } }
  trial {
    hypothesis = "h"
    varies     = ["size"]
    baseline   = { size = 2 }
    judge      = "jobs_per_hour"
    after      = phase.one
  }
  job { command = "y ${cell.size}" }
}
phase "three" {
  grid { axes = { size = [1, 2] } }
  trial {
    hypothesis = "h"
    varies     = ["size"]
    baseline   = { size = 2 }
    judge      = "jobs_per_hour"
    after      = phase.two
  }
  job { command = "z ${cell.size}" }
}
`

func load(t *testing.T, judge string) *lang.Campaign {
	t.Helper()
	c, ds := lang.LoadFiles(map[string][]byte{"a.muster.hcl": []byte(strings.Replace(campaign, "JUDGE", judge, 1))}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	return c
}

// A took describes the jobs of a setting.
type took struct {
	minutes float64 // of a run
	lost    int     // launches of the first job that failed before
	fails   bool    // no job completes
	usd     string  // of a job
	loss    string
}

// played is a state in which the phases did what is said by setting.
func played(c *lang.Campaign, by map[string]took) *state.State {
	st := &state.State{Jobs: map[string]*state.Job{}}
	for _, p := range c.Phases {
		first := map[string]bool{}
		for i := range p.Len() {
			s := p.Setting(i)
			w, ok := by[p.Name+" "+s]
			if !ok {
				continue
			}
			job := &state.Job{Address: p.Address(i), Phase: p.Name, Status: state.Completed}
			lost := w.lost
			if first[s] {
				lost = 0
			}
			first[s] = true
			at := began
			for n := range lost + 1 {
				a := state.Attempt{N: n + 1, Token: fmt.Sprint(i, n), Queued: at, Started: at, Ended: at.Add(time.Duration(w.minutes * float64(time.Minute)))}
				if n < lost || w.fails {
					a.Class = "oom_host"
				}
				at = a.Ended
				job.Attempts = append(job.Attempts, a)
			}
			if w.fails {
				job.Status = state.Failed
			}
			if w.loss != "" {
				job.Metrics = map[string]string{"loss": w.loss}
			}
			st.Jobs[job.Address] = job
			if w.usd != "" {
				st.Ledger = append(st.Ledger, state.Entry{Address: job.Address, Phase: p.Name, At: at, Spent: state.Texts{}.With(map[string]string{"usd": w.usd})})
			}
		}
	}
	return st
}

// TestPromotes: at most one setting is promoted, by the stated rule.
func TestPromotes(t *testing.T) {
	t.Parallel()
	const base, a, b, both = "one cpus=2, size=1", "one cpus=1, size=1", "one cpus=2, size=2", "one cpus=1, size=2"
	for _, c := range []struct {
		name, judge string
		by          map[string]took
		promoted    string
		gain        float64
		says        string
	}{
		{"the fastest", `judge = "jobs_per_hour"`, map[string]took{base: {minutes: 60}, a: {minutes: 50}, b: {minutes: 30}, both: {minutes: 61}}, "cpus=2, size=2", 1, "promote cpus=2, size=2: 100 % better"},
		{"under the threshold", `judge = "jobs_per_hour"`, map[string]took{base: {minutes: 60}, a: {minutes: 58}, b: {minutes: 60}, both: {minutes: 61}}, "", 60.0/58 - 1, "keep cpus=2, size=1: the best of the others, cpus=1, size=1, gained 3.4 %, and min_gain is 5 %"},
		{"as good, and loses less", `judge = "metric.loss"
goal = "least"`, map[string]took{base: {minutes: 1, loss: "1"}, a: {minutes: 1, loss: "0.5", lost: 1}, b: {minutes: 1, loss: "0.52"}, both: {minutes: 1, loss: "0.9"}}, "cpus=2, size=2", 0.48, ""},
		{"as good, and changes less", `judge = "metric.loss"
goal = "least"`, map[string]took{base: {minutes: 1, loss: "1"}, a: {minutes: 1, loss: "0.8"}, b: {minutes: 1, loss: "0.7"}, both: {minutes: 1, loss: "0.69"}}, "cpus=2, size=2", 0.3, ""},
		{"cheaper", `judge = "cost_per_job"`, map[string]took{base: {minutes: 1, usd: "2"}, a: {minutes: 1, usd: "1"}, b: {minutes: 1, usd: "3"}, both: {minutes: 1, usd: "2"}}, "cpus=1, size=1", 0.5, ""},
		{"loses jobs that the baseline completes", `judge = "jobs_per_hour"`, map[string]took{base: {minutes: 60}, a: {minutes: 1, fails: true}, b: {minutes: 60}, both: {minutes: 60}}, "", 0, "keep cpus=2, size=1"},
		{"fewer failures", `judge = "failed_share"`, map[string]took{base: {minutes: 1, lost: 3}, a: {minutes: 1}, b: {minutes: 1, lost: 3}, both: {minutes: 1, lost: 3}}, "cpus=1, size=1", 1, ""},
		{"the baseline has no value", `judge = "jobs_per_hour"`, map[string]took{base: {minutes: 1, fails: true}, a: {minutes: 1}, b: {minutes: 1}, both: {minutes: 1}}, "", math.NaN(), "nothing can be compared: the baseline has no jobs_per_hour"},
		{"not at its end", `judge = "jobs_per_hour"`, map[string]took{base: {minutes: 60}, a: {minutes: 1}}, "", 59, "6 jobs left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cam := load(t, c.judge)
			r := Of(cam, played(cam, c.by))[0]
			promoted, gain := "", math.NaN()
			if r.Promoted >= 0 {
				promoted = r.Settings[r.Promoted].Text
				gain = r.Settings[r.Promoted].Gain
			} else if r.Best >= 0 {
				gain = r.Settings[r.Best].Gain
			}
			if promoted != c.promoted || math.Abs(gain-c.gain) > 1e-9 || math.IsNaN(gain) != math.IsNaN(c.gain) {
				t.Errorf("promoted %q with a gain of %v, not %q with %v", promoted, gain, c.promoted, c.gain)
			}
			if !strings.Contains(r.Verdict(), c.says) {
				t.Errorf("says %q, not %q", r.Verdict(), c.says)
			}
		})
	}
}

// TestHolds: a round waits for the one before, and the search ends after two that gained
// too little.
func TestHolds(t *testing.T) {
	t.Parallel()
	const one, two = "one cpus=2, size=1", "two size=2"
	c := load(t, `judge = "jobs_per_hour"`)
	all := func(base, other took) map[string]took {
		return map[string]took{one: base, "one cpus=1, size=1": other, "one cpus=2, size=2": other, "one cpus=1, size=2": other}
	}
	with := func(by map[string]took, more ...took) map[string]took {
		by[two], by["two size=1"] = more[0], more[1]
		return by
	}
	for name, d := range map[string]struct {
		by         map[string]took
		two, three string
	}{
		"nothing ran":         {nil, "phase.one has 12 jobs left", "phase.two has 2 jobs left"},
		"one gained":          {all(took{minutes: 60}, took{minutes: 30}), "", "phase.two has 2 jobs left"},
		"one did not":         {all(took{minutes: 60}, took{minutes: 60}), "", "phase.two has 2 jobs left"},
		"neither did":         {with(all(took{minutes: 60}, took{minutes: 60}), took{minutes: 60}, took{minutes: 59}), "", "the search ended: phase.one and phase.two"},
		"the second did":      {with(all(took{minutes: 60}, took{minutes: 60}), took{minutes: 60}, took{minutes: 40}), "", ""},
		"the first did":       {with(all(took{minutes: 60}, took{minutes: 30}), took{minutes: 60}, took{minutes: 60}), "", ""},
		"the second is blind": {with(all(took{minutes: 60}, took{minutes: 60}), took{minutes: 60, fails: true}, took{minutes: 40}), "", ""},
	} {
		rounds := Of(c, played(c, d.by))
		for i, want := range []string{"", d.two, d.three} { // in their order, whatever their names
			got := Holds(rounds[i].Phase, rounds)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %s is held by %q, want %q", name, rounds[i].Phase.Name, got, want)
			}
		}
	}
}
