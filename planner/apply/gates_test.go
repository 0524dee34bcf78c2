package apply

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

const gated = `
phase "a" {
  grid { axes = { n = [1, 2, 3, 4] } }
  params = { steps = 100 }
  job {
    command = "train ${param.steps} ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.json" }
    metric "loss" {
      output = "o"
      json   = "/loss"
    }
  }
  smoke {
    params = { steps = 1 }
    cells  = "ends"
    expect {
      condition = metric.loss < 10
      message   = "loss diverged"
    }
  }
  pilot { cells = "first" }
}`

func TestSmokesThenPilotThenTheRest(t *testing.T) {
	// Requirement: SM-01, SM-09
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{metrics: map[string]string{"loss": "1"}} }
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
	want := []string{`phase.a["n=1"]`, `phase.a["n=4"]`, `phase.a["n=1"]`}
	if len(s.world.logs) != 6 || !slices.Equal(s.world.logs[:3], want) {
		t.Errorf("order %v", s.world.logs)
	}
	if n := len(s.state().Validations); n != 2 {
		t.Errorf("validations %s", text(s.state().Validations))
	}
	if c := s.counts(); c.Changes() {
		t.Errorf("the plan of an applied plan: %+v", c)
	}
}

func TestFailedSmokeHoldsItsPhase(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]jobResult{
		"expectation": {metrics: map[string]string{"loss": "99"}},
		"crash":       {exit: 1, class: "nan"},
		"cancelled":   {cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, gated)
			s.world.result = func(providers.Job, int) jobResult { return r }
			o := s.must(t.Context())
			if len(s.world.logs) != 1 || o.Done != 0 || o.Blocked != 4 {
				t.Errorf("started %v, outcome %+v", s.world.logs, o)
			}
			if o = s.must(t.Context()); len(s.world.logs) != 1 {
				t.Errorf("a second apply started %v", s.world.logs)
			}
			s.agree()
		})
	}
}

func TestSmokeJudgedAfterACrash(t *testing.T) {
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{metrics: map[string]string{"loss": "1"}} }
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "validated" {
				stop()
			}
		}
	}
	s.must(ctx)
	// As if the process died between the smoke's end and its verdict.
	s.disk.events = slices.DeleteFunc(s.disk.events, func(ev state.Event) bool { return ev.Kind() == "validated" })
	s.conf = nil
	before := len(s.world.logs)
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
	if len(s.world.logs) != 6 || before > 2 || len(s.state().Validations) != 2 {
		t.Errorf("started %v, validations %s", s.world.logs, text(s.state().Validations))
	}
}

// untilOneRuns applies until a job runs; the apply is interrupted then.
func (s *stage) untilOneRuns() {
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if o, ok := ev.(state.Observed); ok && o.Status == state.Running {
				stop()
			}
		}
	}
	s.must(ctx)
	s.conf = nil
}

// TestEditedWhileItsSmokeRuns: a smoke of what the phase was before an edit says nothing about
// it, however it ends; the phase gets a smoke of what it is now, and goes on.
func TestEditedWhileItsSmokeRuns(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]jobResult{
		"cancelled": {hang: true},
		"passes":    {takes: 300 * time.Millisecond, metrics: map[string]string{"loss": "1"}},
		"fails":     {takes: 300 * time.Millisecond, exit: 1, class: "nan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, gated)
			s.world.result = func(j providers.Job, _ int) jobResult {
				if strings.Contains(j.Shell, "train 1 1") {
					return old
				}
				return jobResult{metrics: map[string]string{"loss": "1"}}
			}
			s.untilOneRuns()
			if n := len(s.world.logs); n != 1 {
				t.Fatalf("%d jobs started before the edit", n)
			}
			s.write(strings.Replace(gated, "\"train ", "\"train better ", 1))
			s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
			if n := len(s.world.logs); n != 7 || len(s.state().Validations) != 2 {
				t.Errorf("started %v, validations %s", s.world.logs, text(s.state().Validations))
			}
		})
	}
}

// TestResumeAfterACancelledSmoke: one resume of a phase that was cancelled while its smoke ran
// frees the smoke, too.
func TestResumeAfterACancelledSmoke(t *testing.T) {
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true} }
	s.untilOneRuns()
	do := func(verb request.Verb) request.Answer {
		m, f, c := s.disk.open(nil), &fake{world: s.world}, s.load()
		a, err := Do(t.Context(), s.config(s.plan(c, m.st, f), c, m, f), request.Request{Verb: verb, Who: "bob", Addresses: []string{"phase.a"}})
		if err != nil || a.Error != "" {
			t.Fatalf("%s: %+v %v", verb, a, err)
		}
		return a
	}
	do(request.Cancel)
	s.world.mu.Lock()
	s.world.result = func(providers.Job, int) jobResult { return jobResult{metrics: map[string]string{"loss": "1"}} }
	s.world.mu.Unlock()
	if a := do(request.Resume); a.Text != "Released. Run `muster apply` to start 1 smoke and 4 jobs." {
		t.Errorf("%+v", a)
	}
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
}

// TestSmokeOfAJobThatIsNotSelected runs once the jobs before it are done, like that of another.
func TestSmokeOfAJobThatIsNotSelected(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
phase "a" {
  job {
    command = "make > ${output.o}"
    output "o" { path = "a.txt" }
  }
}
phase "b" {
  grid { axes = { n = [1, 2] } }
  job {
    command = "train ${cell.n} ${input.i} > ${output.o}"
    output "o" { path = "b${cell.n}.txt" }
    input "i" { from = phase.a.output.o }
  }
  smoke { cells = "first" }
}`)
	s.opts = planner.Options{Targets: []string{`phase.b["n=2"]`}}
	s.check(s.must(t.Context()), "end done=2 failed=0 held=0 blocked=0 left=0")
	if want := []string{"phase.a", `phase.b["n=1"]`, `phase.b["n=2"]`}; !slices.Equal(s.world.logs, want) {
		t.Errorf("started %v, want %v", s.world.logs, want)
	}
}

func TestOverrideLetsAGatePass(t *testing.T) {
	// Requirement: SM-08
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Smoke {
			return jobResult{metrics: map[string]string{"loss": "99"}}
		}
		return jobResult{}
	}
	s.must(t.Context())
	s.disk.events = append(s.disk.events, state.Overrode{Override: state.Override{Address: "phase.a", Who: "ada", Reason: "known"}})
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
}

const budgeted = `
backend "local" "local" { price = { usd_per_hour = 1 } }
budget "b" { limits = { usd = 6.5 } }
phase "a" {
  grid { axes = { n = [1, 2, 3, 4, 5, 6] } }
  job {
    command = "echo ${cell.n} > ${output.o}"
    resources { walltime = "1h" }
    output "o" { path = "a${cell.n}.txt" }
  }
  retry {
    on           = ["oom"]
    max_attempts = 3
  }
}`

func TestBudgetStopsNewWorkAndLetsRunningWorkGoOn(t *testing.T) {
	// Requirement: CST-02
	t.Parallel()
	s := newStage(t, budgeted)
	s.world.price.USDPerHour = "1"
	s.world.slots = 6
	s.world.result = func(providers.Job, int) jobResult { return jobResult{} }
	o := s.must(t.Context())
	// Each ends at once and costs next to nothing, so the next is affordable:
	// at no time more than two are in flight.
	if o.Done != 6 || s.world.most > 2 {
		t.Errorf("outcome %+v, %d at once", o, s.world.most)
	}
	s.agree()
}

func TestBudgetThatIsSpentEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, budgeted)
	s.world.price.USDPerHour = "1"
	s.conf = func(c *Config) { // spent by somebody else after the plan was made
		c.Session.Append(state.Spent{Entry: state.Entry{Address: "phase.old", Backend: "local.local", Spent: state.TextsOf(state.Amounts{"usd": "4"})}})
	}
	o := s.must(t.Context())
	if o.Stopped != progress.Budget || o.Done != 0 || o.Left != 6 || !strings.Contains(o.Why, `budget "b"`) {
		t.Errorf("outcome %+v", o)
	}
}

func TestRerunMovesOldOutputsAside(t *testing.T) {
	t.Parallel()
	s := newStage(t, one)
	s.must(t.Context())
	s.write(strings.Replace(one, "true", "true again", 1))
	s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
	aside := 0
	for _, j := range s.world.jobs {
		if strings.HasPrefix(j.MoveAside, ".muster/replaced/") {
			aside++
		}
	}
	if len(s.world.jobs) != 2 || aside != 1 {
		t.Errorf("%d jobs, %d move aside", len(s.world.jobs), aside)
	}
}

var _ = request.Hold
