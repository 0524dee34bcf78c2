package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var canaried = strings.Replace(gated, "    expect {", `    canary {
      params = { steps = 4 }
      expect { condition = metric.loss < 5 }
    }
    expect {`, 1)

// commands are those of the jobs that the world started, in order.
func commands(w *world, r func(providers.Job) jobResult) *[]string {
	var ran []string
	w.result = func(j providers.Job, _ int) jobResult {
		ran = append(ran, strings.Split(j.Shell, " >")[0])
		return r(j)
	}
	return &ran
}

// isCanary tells a canary by its params.
func isCanary(j providers.Job) bool { return strings.HasPrefix(j.Shell, "train 4 ") }

func loses(text string) func(providers.Job) jobResult {
	return func(providers.Job) jobResult { return jobResult{metrics: map[string]string{"loss": text}} }
}

// TestCanaryFollowsTheSmokes: the last of the smoke's cells runs once more, with the
// canary's params and in a folder of its own, before the pilot.
func TestCanaryFollowsTheSmokes(t *testing.T) {
	// Requirement: SM-16
	t.Parallel()
	s := newStage(t, canaried)
	var folder string
	ran := commands(s.world, func(j providers.Job) jobResult {
		if isCanary(j) {
			folder = j.Outputs[0].Path
			if !j.Smoke {
				t.Error("the canary is no smoke")
			}
		}
		return loses("1")(j)
	})
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
	want := []string{"train 1 1", "train 1 4", "train 4 4", "train 100 1"}
	if len(*ran) != 7 || !slices.Equal((*ran)[:4], want) {
		t.Errorf("started %q", *ran)
	}
	if want := ".muster/smoke/a/canary/n=4/a4.json"; folder != want {
		t.Errorf("the canary writes %s, not %s", folder, want)
	}
	var canaries int
	for _, v := range s.state().Validations {
		if v.Canary != nil {
			canaries++
			if v.Canary.Params["steps"] != "4" {
				t.Errorf("%s: the canary ran with params %v", v.Address, v.Canary.Params)
			}
		}
		if !v.Passed || v.Open || v.Params["steps"] != "1" {
			t.Errorf("%s: %+v", v.Address, v)
		}
	}
	if canaries != 1 {
		t.Errorf("%d canaries", canaries)
	}
	if c := s.counts(); c.Changes() {
		t.Errorf("the plan of an applied plan: %+v", c)
	}
}

// TestCanaryFails: what its smoke passes and the canary does not holds the phase, and
// the smoke begins again with its short run.
func TestCanaryFails(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]jobResult{
		"its own expectation":    {metrics: map[string]string{"loss": "7"}},
		"that of its smoke":      {metrics: map[string]string{"loss": "99"}},
		"a crash":                {exit: 1, class: "nan"},
		"out of its memory":      {exit: 1, class: "oom_host"},
		"a metric that is gone":  {},
		"it takes all its time":  {exit: 1, class: "timeout"},
		"a cancel from outside":  {cancel: true},
		"the end of its machine": {exit: 1, class: "node_failure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, canaried)
			ran := commands(s.world, func(j providers.Job) jobResult {
				if isCanary(j) {
					return r
				}
				return loses("1")(j)
			})
			o := s.must(t.Context())
			if o.Done != 0 || len(*ran) != 3 {
				t.Errorf("started %q, outcome %+v", *ran, o)
			}
			if o = s.must(t.Context()); o.Done != 0 || len(*ran) > 4 {
				t.Errorf("a second apply started %q", *ran)
			}
			s.agree()
		})
	}
}

// TestCanaryAfterACrash: without the verdicts that a crash lost, the canary still runs
// once, and as a canary.
func TestCanaryAfterACrash(t *testing.T) {
	t.Parallel()
	for verdicts := 1; verdicts <= 3; verdicts++ {
		s := newStage(t, canaried)
		ran := commands(s.world, loses("1"))
		var seen atomic.Int32 // calls come from several goroutines
		s.conf = func(c *Config) {
			c.Event = func(ev state.Event) {
				if ev.Kind() == "validated" {
					seen.Add(1)
				}
			}
		}
		if _, err := s.apply(t.Context(), func() error {
			if int(seen.Load()) < verdicts {
				return nil
			}
			return errors.New("killed")
		}); err == nil {
			t.Fatal("the run did not die")
		}
		n := 0
		cut := slices.IndexFunc(s.disk.events, func(ev state.Event) bool {
			if ev.Kind() == "validated" {
				n++
			}
			return n == verdicts
		})
		s.disk.events, s.conf = s.disk.events[:cut], nil
		s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
		if len(*ran) != 7 || (*ran)[2] != "train 4 4" {
			t.Errorf("without the verdicts from %d on: started %q", verdicts, *ran)
		}
	}
}

// TestCanaryInFlight: a canary that runs on without muster is judged as one.
func TestCanaryInFlight(t *testing.T) {
	t.Parallel()
	s := newStage(t, canaried)
	ctx, stop := context.WithCancel(t.Context())
	ran := commands(s.world, func(j providers.Job) jobResult {
		r := loses("7")(j)
		if isCanary(j) {
			r.takes = 50 * time.Millisecond
			stop()
		}
		return r
	})
	s.must(ctx)
	if o := s.must(t.Context()); o.Done != 0 || len(*ran) != 3 {
		t.Errorf("started %q, outcome %+v", *ran, o)
	}
}

// TestCanaryWaitsForMuster: nothing is queued behind a smoke that muster launches again.
func TestCanaryWaitsForMuster(t *testing.T) {
	t.Parallel()
	const plain = `
phase "a" {
  grid { axes = { n = [1, 2] } }
  params = { steps = 100 }
  job {
    command = "train ${param.steps} ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.json" }
  }
  smoke {
    params = { steps = 1 }
    %
  }
}`
	for more, submitted := range map[string]int{"": 3, "repeat = 2": 1, "canary { params = { steps = 4 } }": 1, "min_throughput = 0.5": 1} {
		s := newStage(t, strings.Replace(plain, "%", more, 1))
		s.world.can = offer.Capabilities{Holds: true, HostQueue: true, Dependencies: true, Retries: true, FeedSlots: 2, Events: true}
		s.conf = func(c *Config) { c.Mode = Detach }
		o := s.must(t.Context())
		if o.Stopped != progress.Detached || o.Submitted != submitted {
			t.Errorf("with %q %d jobs were submitted, not %d", more, o.Submitted, submitted)
		}
	}
}
