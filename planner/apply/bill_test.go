package apply

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestARunningJobCostsWhatItTookUp: a launch is billed as large as it was when it
// was launched, whatever the campaign says by the time it ends: what asks for
// less by then, has another name, or is gone has taken up no less.
func TestARunningJobCostsWhatItTookUp(t *testing.T) {
	t.Parallel()
	const was = `
phase "a" {
  job {
    command = "train > ${output.o}"
    resources {
      cpus     = 8
      walltime = "1h"
    }
    output "o" { path = "o" }
  }
}`
	for name, is := range map[string]string{
		"asked for less": strings.Replace(was, "= 8", "= 1", 1),
		"renamed":        strings.Replace(was, `"a"`, `"b"`, 1) + "\nmoved {\n  from = phase.a\n  to = phase.b\n}\n",
		"gone":           "phase \"z\" {\n  job { command = \"true\" }\n}\n",
	} {
		for _, price := range []offer.Price{{SUPerCPUHour: "1"}, {}} {
			t.Run(name+" for "+price.SUPerCPUHour, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, was)
				s.world.price, s.world.slots = price, 1
				s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true, lasted: time.Hour} }
				s.conf = func(c *Config) { c.Mode = Detach }
				s.must(t.Context())
				s.world.until(func() bool { return len(s.world.runs) == 1 })
				s.write(is)
				s.conf = nil
				s.world.mu.Lock()
				s.world.result = nil
				for _, j := range s.world.jobs {
					j.res.hang = name == "gone" // what nobody wants is cancelled
				}
				s.world.mu.Unlock()
				ctx, leave := context.WithTimeout(t.Context(), time.Minute)
				defer leave()
				s.must(ctx)
				var spent state.Entry
				for _, en := range s.state().Ledger {
					if en.Attempt == 1 && strings.HasPrefix(en.Backend, "local") && en.Phase != "z" {
						spent = en
					}
				}
				if got := spent.Spent; got.Get("cpu_hours") != "8" || price.SUPerCPUHour != "" && got.Get("service_units") != "8" {
					t.Errorf("eight cores for an hour: %+v\n%s", spent, s.story())
				}
			})
		}
	}
}

// TestALaunchIsBilledByTheCoresThatItGot: a scheduler gives more cores than a job
// asks for, as for its memory. What is charged for a node has them already.
func TestALaunchIsBilledByTheCoresThatItGot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		price offer.Price
		want  string
	}{
		"by the core": {offer.Price{SUPerCPUHour: "1"}, "4"},
		"by the node": {offer.Price{SUPerNodeHour: "3"}, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, `
phase "a" {
  job {
    command = "train"
    resources { walltime = "1h" }
  }
}`)
			s.world.price = c.price
			s.world.result = func(providers.Job, int) jobResult { return jobResult{lasted: time.Hour, cores: 4} }
			s.must(t.Context())
			ledger := s.state().Ledger
			if len(ledger) != 1 || ledger[0].Spent.Get("cpu_hours") != "4" || ledger[0].Spent.Get("service_units") != c.want {
				t.Errorf("four cores for an hour: %+v\n%s", ledger, s.story())
			}
		})
	}
}

// TestWhatIsPaidForEndsByItsWalltime: at a place that is paid for, and under a
// budget, a host's queue kills a job by its walltime, not a grace after it.
func TestWhatIsPaidForEndsByItsWalltime(t *testing.T) {
	t.Parallel()
	const job = `
phase "a" {
  job {
    command = "train"
    resources { walltime = "1h" }
  }
}`
	for name, c := range map[string]struct {
		hcl   string
		price offer.Price
		hosts bool
		last  time.Duration
	}{
		"free":           {job, offer.Price{}, true, time.Hour},
		"paid":           {job, offer.Price{USDPerHour: "1"}, true, time.Hour - 2*time.Second},
		"under a budget": {job + "\nbudget \"b\" { limits = { cpu_hours = 9 } }\n", offer.Price{}, true, time.Hour - 2*time.Second},
		"on a scheduler": {job, offer.Price{USDPerHour: "1"}, false, time.Hour}, // its wrapper sees to it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.hcl)
			s.world.price, s.world.can.HostQueue = c.price, c.hosts
			s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
			for _, j := range s.world.jobs {
				if last := j.Shape.Walltime + j.Grace; last != c.last {
					t.Errorf("it is killed after %s", last)
				}
			}
			if at := s.state().Jobs["phase.a"].Last(); at.Ceiling["cpu_hours"] != "1" || at.Scaled != nil {
				t.Errorf("an hour is set aside: %+v", at)
			}
		})
	}
}

// TestALoweredBudgetHoldsForWhatWasNeverSent: an intent that was cut off before
// its submission is sent again only if the budget of now covers it.
func TestALoweredBudgetHoldsForWhatWasNeverSent(t *testing.T) {
	t.Parallel()
	const hcl = `
budget "b" { limits = { usd = LIMIT } }
phase "a" {
  grid { axes = { n = [1, 2, 3] } }
  job {
    command = "train ${cell.n}"
    resources { walltime = "1h" }
  }
}`
	for limit, want := range map[string]string{
		"9": "end done=3 failed=0 held=0 blocked=0 left=0",
		"1": "budget done=1 failed=0 held=0 blocked=0 left=2",
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(hcl, "LIMIT", "9", 1))
			s.world.price = offer.Price{USDPerHour: "1"}
			s.world.result = func(providers.Job, int) jobResult { return jobResult{lasted: time.Hour} }
			ctx, die := context.WithCancel(t.Context())
			s.conf = func(c *Config) {
				c.Provider = func(string) (providers.Provider, error) { return cutOff{&fake{world: s.world}, die}, nil }
			}
			if _, err := s.apply(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if n := len(s.state().InFlight()); n != 3 {
				t.Fatalf("%d jobs are in flight", n)
			}
			s.conf = nil
			s.write(strings.Replace(hcl, "LIMIT", limit, 1))
			s.check(s.must(t.Context()), want)
			if spent, _ := s.state().Spent(nil); spent["usd"] != map[string]string{"9": "3", "1": "1"}[limit] {
				t.Errorf("spent $%s of $%s", spent["usd"], limit)
			}
		})
	}
}

// A cutOff provider takes nothing, and its muster dies as it tries.
type cutOff struct {
	*fake
	die context.CancelFunc
}

func (c cutOff) Submit(context.Context, providers.SubmitRequest) ([]providers.Submitted, error) {
	c.die()
	return nil, providers.Errorf(providers.Unreachable, "the line is cut")
}

// A late clock is as much ahead as a test sets it.
type late struct {
	clock.Clock
	by atomic.Int64
}

func (l *late) Now() time.Time { return l.Clock.Now().Add(time.Duration(l.by.Load())) }

// TestAWaitThatIsBilledPassesNoCeiling: what a job has waited beyond what was
// quoted is set aside as it grows; where the ceiling does not cover it any more the
// job is taken back, and what it waited is in the ledger.
func TestAWaitThatIsBilledPassesNoCeiling(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
phase "a" {
  grid { axes = { n = [1, 2] } }
  job {
    command = "train ${cell.n}"
    resources { walltime = "1h" }
  }
}`)
	s.world.price = offer.Price{USDPerHour: "1", BillsWhileQueued: true}
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.stall = true
	s.world.result = func(providers.Job, int) jobResult { return jobResult{lasted: time.Hour} }
	now := &late{Clock: clock.Wall}
	over := make(chan progress.Outcome, 1)
	queued, n := make(chan struct{}), 0
	s.conf = func(c *Config) {
		c.Time = now
		c.Event = func(ev state.Event) {
			if _, ok := ev.(state.Submitted); ok {
				if n++; n == 2 { // before the engine looks again: the least wait is beyond what is approved
					now.by.Store(int64(15 * time.Minute))
					close(queued)
				}
			}
		}
	}
	go func() { over <- s.must(t.Context()) }()
	<-queued
	// An hour each is approved, and what one has waited in vain leaves it to the other.
	for o := (progress.Outcome{}); o.Total == 0; {
		s.world.mu.Lock()
		for _, token := range s.world.order { // any news has the engine look
			s.world.tell(offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: offer.Queued, Attempt: 1, Reason: time.Now().String()})
		}
		for _, j := range s.world.jobs {
			if j.status == offer.Cancelled {
				s.world.stall = false // the other one starts
			}
		}
		s.world.mu.Unlock()
		select {
		case o = <-over:
		case <-time.After(time.Millisecond):
		}
	}
	cancelled, idle := 0, ""
	st := s.state()
	for _, j := range st.Jobs {
		if j.Status == state.Cancelled {
			cancelled++
			if !strings.Contains(j.Reason, `its wait is billed, and the approved ceiling does not cover`) {
				t.Errorf("taken back since %q", j.Reason)
			}
			for _, en := range st.Ledger {
				if en.Address == j.Address {
					idle = en.Spent.Get("usd")
				}
			}
		}
	}
	if cancelled != 1 || !strings.HasPrefix(idle, "0.25") {
		t.Errorf("%d taken back; 15 minutes of waiting cost $%s\n%s", cancelled, idle, s.story())
	}
	if spent, _ := st.Spent(nil); amount.Of(spent["usd"]).GreaterThan(amount.Of("2")) {
		t.Errorf("$%s of $2 spent", spent["usd"])
	}
}

// TestACeilingCountsWhatItFoundInFlight: a plan is approved with what an earlier
// one has in flight, at its ceiling, so what that is billed leaves the less to the
// jobs of the plan.
func TestACeilingCountsWhatItFoundInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retry   string
		billed  []string // of the launches of what was in flight, each quoted $1
		ceiling string
		end     string
	}{
		"one launch":     {"", []string{"2 usd"}, "3", "budget done=2 failed=0 held=0 blocked=0 left=1"},
		"launched again": {"retry {\n on = [\"node_failure\"]\n max_attempts = 2\n delay = \"1ms\"\n }", []string{"3 usd", "1 usd"}, "4", "budget done=1 failed=0 held=0 blocked=0 left=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foundInFlight(t, c.retry, c.billed, c.ceiling, c.end)
		})
	}
}

func foundInFlight(t *testing.T, retry string, billed []string, ceiling, end string) {
	first := `
phase "a" {
  job {
    command = "train > ${output.o}"
    resources { walltime = "1h" }
    output "o" { path = "a.txt" }
  }
  ` + retry + `
}`
	s := newStage(t, first)
	s.world.price = offer.Price{USDPerHour: "1"}
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.stall = true
	s.world.result = func(j providers.Job, launch int) jobResult {
		r := jobResult{lasted: time.Hour}
		if j.Phase == "a" {
			if r.billed = billed[launch-1]; launch < len(billed) {
				r.exit, r.class = 1, "node_failure"
			}
		}
		return r
	}
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if _, ok := ev.(state.Submitted); ok {
				stop()
			}
		}
	}
	s.must(ctx)
	s.conf = func(*Config) { // the plan is made
		s.world.mu.Lock()
		s.world.stall = false
		s.world.mu.Unlock()
	}
	s.write(first + `
phase "b" {
  grid { axes = { n = [1, 2] } }
  max_parallel = 1
  job {
    command = "test ${cell.n} ${input.i}"
    input "i" { from = phase.a.output.o }
    resources { walltime = "1h" }
  }
}`)
	o := s.must(t.Context())
	st := s.state()
	if most := st.Approvals[len(st.Approvals)-1].Ceiling["usd"]; len(st.Approvals) != 2 || most != ceiling {
		t.Fatalf("%d approvals, the last of $%s\n%s", len(st.Approvals), most, s.story())
	}
	if spent, _ := st.Spent(nil); !amount.Of(spent["usd"]).Equal(amount.Of(ceiling)) {
		t.Errorf("$%s of $%s spent\n%s", spent["usd"], ceiling, s.story())
	}
	if s.check(o, end); !strings.Contains(o.Why, "the approved ceiling does not cover") {
		t.Errorf("stopped since %q", o.Why)
	}
	// After a new approval of the remaining jobs it continues.
	s.check(s.must(t.Context()), "end done=3 failed=0 held=0 blocked=0 left=0")
}

// TestABudgetOfAPhaseCountsJobsThatLeftIt: a job whose cell is not in its phase any
// more counts for the phase's budget, as long as it runs and afterwards.
func TestABudgetOfAPhaseCountsJobsThatLeftIt(t *testing.T) {
	t.Parallel()
	const hcl = `
budget "b" {
  limits     = { usd = 3 }
  applies_to = [phase.a]
}
phase "a" {
  grid { axes = { n = [CELLS] } }
  job {
    command = "train ${cell.n}"
    resources { walltime = "1h" }
  }
}`
	s := newStage(t, strings.Replace(hcl, "CELLS", "1, 2", 1))
	s.world.price, s.world.stall = offer.Price{USDPerHour: "1"}, true
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if _, ok := ev.(state.Submitted); ok {
				if n++; n == 2 {
					stop()
				}
			}
		}
	}
	s.must(ctx)
	// Both ran for their hour before anybody asked for their end.
	s.world.mu.Lock()
	s.world.stall = false
	s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true, lasted: time.Hour} }
	s.world.step()
	s.world.result = func(providers.Job, int) jobResult { return jobResult{lasted: time.Hour} }
	s.world.mu.Unlock()
	s.conf = func(c *Config) { c.AllowCancel = true }
	s.write(strings.Replace(hcl, "CELLS", "3, 4, 5", 1))
	if o := s.must(t.Context()); o.Done != 1 || !strings.Contains(o.Why, "$2 spent") && !strings.Contains(o.Why, "$3 spent") {
		t.Errorf("%d done, and no more: %s", o.Done, o.Why)
	}
	sum := int64(0)
	for _, en := range s.state().Ledger {
		if en.Phase != "a" {
			t.Errorf("%s counts for phase %q", en.Address, en.Phase)
		}
		sum += amount.Of(en.Spent.Get("usd")).IntPart()
	}
	if sum != 3 {
		t.Errorf("$%d of $3 spent\n%s", sum, s.story())
	}
}

// TestNoLaunchOfAQueuePassesABudget: what a queue would launch again by itself is
// taken back where no budget covers it any more, since it was lowered or a bill was
// above its quote. What runs is left alone.
func TestNoLaunchOfAQueuePassesABudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit, billed string
		spent         string
		ends          state.Status
	}{
		"as quoted":       {"4", "", "4", state.Failed},
		"above its quote": {"4", "4 usd", "4", state.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, `
budget "b" { limits = { usd = `+c.limit+` } }
phase "a" {
  job {
    command = "train"
    resources { walltime = "1h" }
  }
  retry {
    on           = ["node_failure"]
    max_attempts = 4
    delay        = "1ms"
  }
}`)
			s.world.price, s.world.waits = offer.Price{USDPerHour: "1"}, true
			s.world.result = func(providers.Job, int) jobResult {
				return jobResult{exit: 1, class: "node_failure", lasted: time.Hour, billed: c.billed}
			}
			s.conf = func(conf *Config) {
				conf.Event = func(ev state.Event) {
					if o, ok := ev.(state.Observed); ok && o.Status == state.Waiting && c.ends == state.Failed {
						s.world.mu.Lock()
						defer s.world.mu.Unlock()
						for _, j := range s.world.jobs {
							j.held = false
						}
						s.world.step()
					}
				}
			}
			s.must(t.Context())
			st := s.state()
			if spent, _ := st.Spent(nil); spent["usd"] != c.spent || st.Jobs["phase.a"].Status != c.ends {
				t.Errorf("$%s spent of $%s, and it is %s: %s\n%s", spent["usd"], c.limit, st.Jobs["phase.a"].Status, st.Jobs["phase.a"].Reason, s.story())
			}
		})
	}
}

// TestBillsInAnyOrder: the last two launches, as they started, were billed above their quotes,
// and it does not matter which of their bills came first.
func TestBillsInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]string{"as they started": "2", "the other way round": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(tenJobs, "BUDGET", "budget \"b\" { limits = { usd = 30 } }", 1))
			w := s.world
			w.slots, w.price = 2, offer.Price{USDPerHour: "1"}
			begun := 0
			w.result = func(j providers.Job, _ int) jobResult { // the caller holds mu
				begun++
				r := jobResult{lasted: time.Hour, billed: "2 usd", hang: true}
				if begun > 2 {
					return r
				}
				if r.hang = false; strconv.Itoa(begun) == slow {
					r.hang = true // until the other has ended
				}
				return r
			}
			ctx, stop := context.WithCancel(t.Context())
			s.conf = func(c *Config) {
				note := c.Progress
				c.Progress = func(p progress.Snapshot) {
					note(p)
					done := 0
					for _, ph := range p.Phases {
						done += ph.Done
					}
					w.mu.Lock()
					defer w.mu.Unlock()
					switch {
					case done == 1:
						for _, token := range w.order[:2] {
							w.jobs[token].res.hang = false
						}
					case done > 1:
						stop()
					}
				}
			}
			_, _ = s.apply(ctx, nil)
			if !slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, "bills 2 times its quote") }) {
				t.Errorf("no launch counts at the price that two were billed: %q", s.notes)
			}
		})
	}
}
