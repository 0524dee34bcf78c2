package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const one = `
phase "a" {
  job {
    command = "true > ${output.o}"
    output "o" { path = "a.txt" }
  }
}`

const grid = `
phase "a" {
  grid { axes = { n = [1, 2, 3, 4, 5, 6] } }
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.txt" }
  }
}`

const chain = `
phase "a" {
  grid { axes = { n = [1, 2, 3] } }
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.txt" }
  }
}
phase "b" {
  grid { axes = { n = [1, 2, 3], m = [1, 2] } }
  job {
    command = "cat ${input.i} ${cell.m} > ${output.o}"
    input "i" { from = phase.a.output.o }
    output "o" { path = "b${cell.n}_${cell.m}.txt" }
  }
}
phase "c" {
  job {
    command = "cat ${input_file.all} > ${output.o}"
    input "all" { from_all = phase.b.output.o }
    output "o" { path = "c.txt" }
  }
}`

func TestOneJobRunsAndThenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	s := newStage(t, one)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{takes: 2 * time.Millisecond} }
	s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
	if c := s.counts(); c.Changes() || c.Unchanged != 1 {
		t.Errorf("the plan of an applied plan: %+v", c)
	}
	st := s.state()
	j := st.Jobs["phase.a"]
	if j == nil || j.Status != state.Completed || len(j.Outputs) != 1 || j.Outputs[0].Digest != fakeDigest("a.txt") || j.Result == "" {
		t.Errorf("record %s", text(j))
	}
	if a := st.Approvals; len(a) != 1 || a[0].Outcome != "done" || a[0].Who != "ada" {
		t.Errorf("approvals %s", text(a))
	}
	if len(st.Ledger) != 1 || st.Ledger[0].Spent.Get("cpu_hours") == "" {
		t.Errorf("ledger %s", text(st.Ledger))
	}
}

func TestFinishedPlanIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, one)
	var kept *planner.Plan
	s.conf = func(c *Config) {
		if kept != nil {
			c.Plan = kept
		}
		kept = c.Plan
	}
	s.must(t.Context())
	var finished *finishedError
	if _, err := s.apply(t.Context(), nil); !errors.As(err, &finished) {
		t.Errorf("error %v", err)
	}
}

func TestConsumersWaitForTheirProducersCellByCell(t *testing.T) {
	// Requirement: ISO-03, SUM-04
	t.Parallel()
	s := newStage(t, chain)
	s.world.slots = 1
	s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
	at := func(a string) int { return slices.Index(s.world.logs, a) }
	if at(`phase.b["m=1,n=1"]`) < at(`phase.a["n=1"]`) || at("phase.c") != 9 {
		t.Errorf("order %v", s.world.logs)
	}
	for _, j := range s.world.jobs {
		if j.Address == "phase.c" {
			if len(j.Inputs) != 1 || len(j.Inputs[0].Paths) != 6 || !strings.HasSuffix(j.Inputs[0].Paths[0], "/b1_1.txt") || j.Inputs[0].List == "" || !strings.Contains(j.Shell, j.Inputs[0].List) {
				t.Errorf("inputs %s of %s", text(j.Inputs), j.Shell)
			}
		}
	}
	if c := s.counts(); c.Changes() {
		t.Errorf("the plan of an applied plan: %+v", c)
	}
}

func TestCapsAreKept(t *testing.T) {
	t.Parallel()
	for name, hcl := range map[string]string{
		"campaign": strings.Replace(grid, "phase", "campaign \"c\" { max_parallel = 2 }\nphase", 1),
		"phase":    strings.Replace(grid, "job {", "max_parallel = 2\n  job {", 1),
		"backend":  grid + "\nbackend \"local\" \"local\" { max_parallel = 2 }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, hcl)
			s.world.can.HostQueue, s.world.can.FeedSlots = name == "campaign", 0
			s.world.slots = 6
			s.world.result = func(providers.Job, int) jobResult { return jobResult{takes: 5 * time.Millisecond} }
			s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
			if s.world.most > 2 {
				t.Errorf("%d jobs ran at once", s.world.most)
			}
		})
	}
}

func TestLocalIsFedTwoJobsASlot(t *testing.T) {
	// Requirement: ARR-02
	t.Parallel()
	s := newStage(t, strings.Replace(grid, "4, 5, 6]", "4, 5, 6, 7, 8, 9]", 1))
	s.world.slots, s.world.stall = 2, true
	ctx, stop := context.WithCancel(t.Context())
	fed := 0
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "submitted" {
				fed++
			}
			if fed == 4 {
				time.AfterFunc(20*time.Millisecond, stop) // for one too many
			}
		}
	}
	o := s.must(ctx)
	if o.Stopped != progress.Interrupted || o.Queued != 4 || o.Left != 5 {
		t.Errorf("outcome %+v", o)
	}
}

func TestFailureStopsWhatDependsOnItAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t, chain)
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Address == `phase.a["n=2"]` {
			return jobResult{exit: 3, class: "nan", tail: "loss is nan"}
		}
		return jobResult{}
	}
	s.check(s.must(t.Context()), "end done=6 failed=1 held=0 blocked=3 left=0")
	if c := s.counts(); c.Held != 1 || c.Blocked != 3 || c.Changes() {
		t.Errorf("plan %+v", c)
	}
}

func retrying(on string, more string) string {
	return strings.Replace(grid, "job {", "retry {\n    on = ["+on+"]\n    max_attempts = 3\n    delay = \"1ms\"\n"+more+"  }\n  job {", 1)
}

func TestRetryRidesWithTheJob(t *testing.T) {
	t.Parallel()
	s := newStage(t, retrying(`"oom"`, ""))
	s.world.result = func(j providers.Job, launch int) jobResult {
		if launch < 3 {
			return jobResult{exit: 1, class: "oom_host"}
		}
		return jobResult{}
	}
	s.world.result = orOnly(`phase.a["n=1"]`, s.world.result)
	s.world.can.HostQueue = true
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	j := s.state().Jobs[`phase.a["n=1"]`]
	if len(j.Attempts) != 3 || connection.Stem(j.Attempts[2].Token) != j.Attempts[0].Token || j.Attempts[0].Class != "oom_host" {
		t.Errorf("attempts %s", text(j.Attempts))
	}
	if n := len(s.state().Ledger); n != 8 {
		t.Errorf("%d entries for 8 launches", n)
	}
}

func orOnly(address string, f func(providers.Job, int) jobResult) func(providers.Job, int) jobResult {
	return func(j providers.Job, launch int) jobResult {
		if j.Address == address {
			return f(j, launch)
		}
		return jobResult{}
	}
}

func TestEngineRetriesAndScalesWhereTheQueueDoesNot(t *testing.T) {
	// Requirement: OOM-02
	t.Parallel()
	s := newStage(t, strings.Replace(retrying(`"oom"`, "    scale \"oom_host\" { memory = 1.5 }\n"), "command", "resources { memory = \"10GiB\" }\n    command", 1))
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.result = orOnly(`phase.a["n=1"]`, func(j providers.Job, _ int) jobResult {
		if j.Shape.Memory < 20<<30 {
			return jobResult{exit: 1, class: "oom_host"}
		}
		return jobResult{}
	})
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	j := s.state().Jobs[`phase.a["n=1"]`]
	if len(j.Attempts) != 3 || j.Attempts[2].Scaled["memory"] != "24159191040" || j.Attempts[2].N != 3 {
		t.Errorf("attempts %s", text(j.Attempts))
	}
}

// TestGrownLaunchKeepsToTheLimitsOfItsJobs: where a qos of their own ends jobs
// sooner than their partition does, no launch asks for more.
func TestGrownLaunchKeepsToTheLimitsOfItsJobs(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(retrying(`"oom"`, "    scale \"oom_host\" { walltime = 4 }\n"), "command", "resources { walltime = \"1h\" }\n    command", 1))
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.walltime, s.world.longest = 24*time.Hour, 3*time.Hour
	s.world.result = orOnly(`phase.a["n=1"]`, func(_ providers.Job, launch int) jobResult {
		if launch < 3 {
			return jobResult{exit: 1, class: "oom_host"}
		}
		return jobResult{}
	})
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	for _, a := range s.state().Jobs[`phase.a["n=1"]`].Attempts[1:] {
		if a.Scaled["walltime"] != "3h0m0s" {
			t.Errorf("launch %d: scaled %v", a.N, a.Scaled)
		}
	}
}

func TestAttemptsAreUsedUp(t *testing.T) {
	// Requirement: OOM-12
	t.Parallel()
	s := newStage(t, retrying(`"oom"`, ""))
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.result = orOnly(`phase.a["n=1"]`, func(providers.Job, int) jobResult { return jobResult{exit: 1, class: "oom_host"} })
	s.check(s.must(t.Context()), "end done=5 failed=1 held=0 blocked=0 left=0")
	if n := s.world.runs[`phase.a["n=1"]`]; n != 3 {
		t.Errorf("%d launches", n)
	}
	s.check(s.must(t.Context()), "end done=5 failed=1 held=0 blocked=0 left=0")
	if n := s.world.runs[`phase.a["n=1"]`]; n != 3 {
		t.Errorf("%d launches after a second apply", n)
	}
}

func TestBreakerOpensOnTheSameErrorThreeTimes(t *testing.T) {
	// Requirement: CB-01, OOM-06
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots, s.world.can.FeedSlots = 1, 1
	s.world.result = func(providers.Job, int) jobResult {
		return jobResult{exit: 1, class: "nan", tail: "loss is nan", takes: 2 * time.Millisecond}
	}
	o := s.must(t.Context())
	if o.Failed < 3 || o.Failed > 4 || o.Left+o.Queued < 2 || s.state().Breakers["a"].Phase == "" {
		t.Errorf("outcome %+v, breakers %s", o, text(s.state().Breakers))
	}
	s.agree()
}

// TestBreakerOfLaunchesAgain: jobs that are flaky side by side stop nothing,
// nor do preemptions, whoever launches again; what is launched again and again
// to fail alike does.
func TestBreakerOfLaunchesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class string
		fails int // launches of each job
		open  bool
	}{
		"flaky":     {"nan", 2, false},
		"preempted": {"preempted", 8, false},
		"hopeless":  {"nan", 99, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(retrying(`"nan", "preempted"`, ""), "max_attempts = 3", "max_attempts = 20", 1))
			s.world.can.HostQueue, s.world.can.Retries = false, false
			launches := map[string]int{}
			s.world.result = func(j providers.Job, _ int) jobResult {
				if launches[j.Address]++; launches[j.Address] <= c.fails {
					return jobResult{exit: 1, class: c.class, tail: "no licence"}
				}
				return jobResult{}
			}
			o := s.must(t.Context())
			if _, open := s.state().Breakers["a"]; open != c.open || c.open == (o.Done == 6) {
				t.Errorf("outcome %+v, breakers %s", o, text(s.state().Breakers))
			}
			for job, n := range s.world.runs {
				if c.open && n > 3 {
					t.Errorf("%d launches of %s", n, job)
				}
			}
			if !c.open { // else jobs wait for a resume, which the world knows nothing of
				s.agree()
			}
		})
	}
}

// TestBreakerOfABackendIsToldAsAHold: a backend that stops a phase by itself
// leaves jobs that nothing has failed for good; the run is not done with that.
func TestBreakerOfABackendIsToldAsAHold(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots = 1
	s.world.notes = []providers.Note{{Kind: "breaker", Phase: "a", Text: "stopped: the same error 3 times in a row: exit 75"}}
	o := s.must(t.Context())
	if o.Stopped != progress.Hold || !strings.Contains(o.Why, "phase.a is held by its breaker: the same error 3 times in a row") || o.Left+o.Queued == 0 {
		t.Errorf("outcome %+v", o)
	}
}

// TestBreakerOfNothing: what a backend says to have stopped, and the campaign does not have, stops
// nothing and is not recorded.
func TestBreakerOfNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	for _, of := range []string{`phase.a["size=1,*"]`, `phase.none["size=1,*"]`, "none", `phase.a["`} {
		s.world.notes = append(s.world.notes, providers.Note{Kind: "breaker", Phase: of, Text: "stopped: x"})
	}
	if o := s.must(t.Context()); o.Held+o.Left+o.Queued > 0 || len(s.state().Breakers) > 0 {
		t.Errorf("outcome %+v, breakers %s", o, text(s.state().Breakers))
	}
}

func TestMissingProgramStopsAtOnce(t *testing.T) {
	// Requirement: CB-10
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots, s.world.can.FeedSlots = 1, 1
	s.world.result = func(providers.Job, int) jobResult {
		return jobResult{exit: 127, class: "unknown", tail: "sh: trainx: not found", takes: 2 * time.Millisecond}
	}
	if o := s.must(t.Context()); o.Failed > 3 {
		t.Errorf("outcome %+v", o)
	}
}

func TestUnreachableBackendLosesNothing(t *testing.T) {
	// Requirement: FAIL-05, WCH-10
	t.Parallel()
	s := newStage(t, grid)
	n := 0
	s.world.reject = func(j providers.Job) *providers.Error {
		if n++; n < 4 {
			return providers.Errorf(providers.Unreachable, "the line is down")
		}
		return nil
	}
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
}

func TestRejectedJobIsHeldWithItsReason(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.reject = func(j providers.Job) *providers.Error {
		if j.Address == `phase.a["n=3"]` {
			return providers.Errorf(providers.Invalid, "no such queue")
		}
		return nil
	}
	s.check(s.must(t.Context()), "end done=5 failed=0 held=1 blocked=0 left=0")
	if j := s.state().Jobs[`phase.a["n=3"]`]; j == nil || j.Status != state.Held || !strings.Contains(j.Reason, "no such queue") {
		t.Errorf("record %s", text(j))
	}
}

func TestInterruptLeavesJobsAloneAndTheNextApplyTakesThemUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, chain)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{takes: 10 * time.Millisecond} }
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "submitted" {
				stop()
			}
		}
	}
	o := s.must(ctx)
	if o.Stopped != progress.Interrupted || o.Running+o.Queued+o.Done == 0 {
		t.Errorf("outcome %+v", o)
	}
	s.conf = nil
	s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
	for a, n := range s.world.runs {
		if n != 1 {
			t.Errorf("%s ran %d times", a, n)
		}
	}
}

func TestLostJobCountsAfterASecondReading(t *testing.T) {
	// Requirement: STA-10
	t.Parallel()
	s := newStage(t, one)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true} }
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "observed" {
				stop()
			}
		}
	}
	s.must(ctx)
	for _, j := range s.world.jobs {
		j.gone = true
	}
	s.world.events = nil
	ctx, stop = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	s.conf = nil
	if o := s.must(ctx); o.Unknown != 1 {
		t.Errorf("after one reading: %+v", o)
	}
}

func TestHoldResumeAndCancelReachARunningApply(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots, s.world.stall = 1, true
	dir := t.TempDir()
	s.conf = func(c *Config) { c.Requests = dir }
	done := make(chan progress.Outcome)
	go func() { done <- s.must(context.WithoutCancel(t.Context())) }()
	send := func(r request.Request) request.Answer {
		r.Who = "bob"
		a, err := request.Send(t.Context(), dir, r, time.Minute)
		if err != nil || a.Error != "" {
			t.Errorf("%s: %v %+v", r.Verb, err, a)
		}
		return a
	}
	send(request.Request{Verb: request.Cancel, Addresses: []string{`phase.a["n=6"]`}})
	s.world.mu.Lock()
	s.world.stall = false
	s.world.mu.Unlock()
	ended := <-done
	if s.check(ended, "end done=5 failed=0 held=0 blocked=0 left=0"); ended.Cancelled != 1 {
		t.Errorf("%+v", ended)
	}

	done = make(chan progress.Outcome)
	s.write(strings.Replace(grid, "echo", "echo again", 1))
	s.world.mu.Lock()
	s.world.stall = true
	s.world.mu.Unlock()
	go func() { done <- s.must(context.WithoutCancel(t.Context())) }()
	if a := send(request.Request{Verb: request.Hold}); a.Jobs == 0 {
		t.Errorf("hold %+v", a)
	}
	o := <-done
	if o.Stopped != progress.Hold || o.Done != 0 {
		t.Errorf("outcome %+v", o)
	}
	if c := s.counts(); c.Held == 0 {
		t.Errorf("plan under a hold %+v", c)
	}
}

// TestCancelAgainOfAJobThatEnded: a cancel that could not be answered is tried again, and its job
// may have ended meanwhile.
func TestCancelAgainOfAJobThatEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots, s.world.stall = 6, true
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Address == `phase.a["n=1"]` {
			return jobResult{}
		}
		return jobResult{takes: 4 * connection.BackoffMin}
	}
	dir := t.TempDir()
	s.conf = func(c *Config) { c.Requests = dir }
	n := 0
	s.world.cancels = func() error {
		if n++; n > 1 {
			return nil
		}
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.world.stall = false
		s.world.step()
		return providers.Errorf(providers.Unreachable, "the scheduler does not answer")
	}
	done := make(chan progress.Outcome, 1)
	go func() { done <- s.must(context.WithoutCancel(t.Context())) }()
	s.world.until(func() bool { return len(s.world.jobs) > 0 })
	if a, err := request.Send(t.Context(), dir, request.Request{Verb: request.Cancel, Who: "bob", Addresses: []string{`phase.a["n=1"]`}}, time.Minute); err != nil || a.Error != "" {
		t.Fatalf("%v %+v", err, a)
	}
	if o := <-done; o.Done != 6 {
		t.Errorf("%+v", o)
	}
}

func TestDoWithoutARunningApply(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots = 1
	s.world.result = orOnly(`phase.a["n=1"]`, func(providers.Job, int) jobResult { return jobResult{hang: true} })
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "observed" {
				stop()
			}
		}
	}
	s.must(ctx)
	s.conf = nil
	do := func(r request.Request) request.Answer {
		t.Helper()
		m, f, c := s.disk.open(nil), &fake{world: s.world}, s.load()
		a, err := Do(t.Context(), s.config(s.plan(c, m.st, f), c, m, f), r)
		if err != nil || a.Error != "" {
			t.Errorf("%s: %+v %v", r.Verb, a, err)
		}
		return a
	}
	do(request.Request{Verb: request.Hold, Who: "bob"})
	if !s.world.hold || len(s.state().Holds) != 1 {
		t.Errorf("after hold: queue %v, state %s", s.world.hold, text(s.state().Holds))
	}
	do(request.Request{Verb: request.Cancel, Who: "bob", Addresses: []string{`phase.a["n=1"]`}})
	if j := s.state().Jobs[`phase.a["n=1"]`]; j.Status != state.Cancelled || !strings.Contains(j.Reason, "bob") {
		t.Errorf("after cancel: %s", text(j))
	}
	if o := s.must(t.Context()); o.Stopped != progress.Hold || o.Done != 0 {
		t.Errorf("under the hold: %+v", o)
	}
	s.world.mu.Lock()
	s.world.result = nil
	s.world.mu.Unlock()
	if a := do(request.Request{Verb: request.Resume, Who: "bob"}); !strings.Contains(a.Text, "1 job stays cancelled") {
		t.Errorf("%+v", a)
	}
	if o := s.must(t.Context()); o.Done != 5 || o.Cancelled != 1 {
		t.Errorf("what a person cancelled is left alone: %+v", o)
	}
	do(request.Request{Verb: request.Resume, Who: "bob", Addresses: []string{`phase.a["n=1"]`}})
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
}

// TestResumeCountsWhatAHoldKept: a hold keeps a job in the queue of a scheduler, and the job
// may start when the hold is cleared, although muster is off.
func TestResumeCountsWhatAHoldKept(t *testing.T) {
	t.Parallel()
	s := submittedSix(t)
	for _, c := range []struct {
		verb  request.Verb
		of    []string
		want  int
		words string
	}{
		{request.Resume, nil, 0, "nothing was held"},
		{request.Hold, []string{`phase.a["n=1"]`}, 1, "does not start"},
		{request.Hold, nil, 6, "6 jobs do not start"},
		{request.Resume, []string{`phase.a["n=1"]`}, 0, "no job can start: held by bob"},
		{request.Hold, []string{`phase.a["n=2"]`}, 1, "1 job does not start"},
		{request.Resume, nil, 6, "released 6 jobs"},
		{request.Resume, nil, 0, "nothing was held"},
	} {
		m, f, camp := s.disk.open(nil), &fake{world: s.world}, s.load()
		a, err := Do(t.Context(), s.config(s.plan(camp, m.st, f), camp, m, f), request.Request{Verb: c.verb, Who: "bob", Addresses: c.of})
		if err != nil || a.Jobs != c.want || !strings.Contains(a.Text, c.words) {
			t.Errorf("%s %v: %+v, %v; want %d, %q", c.verb, c.of, a, err, c.want, c.words)
		}
		if c.of == nil && s.world.hold != (c.verb == request.Hold) { // of all, as its queue was told
			t.Errorf("after %s the queue holds everything: %v", c.verb, s.world.hold)
		}
	}
	// What is held in the queue itself, by no word of muster's.
	resume := func(want int, words string) {
		t.Helper()
		m, f, camp := s.disk.open(nil), &fake{world: s.world}, s.load()
		a, err := Do(t.Context(), s.config(s.plan(camp, m.st, f), camp, m, f), request.Request{Verb: request.Resume, Who: "bob"})
		if err != nil || a.Jobs != want || !strings.Contains(a.Text, words) {
			t.Errorf("%+v, %v; want %d, %q", a, err, want, words)
		}
	}
	held := func(cause offer.Cause, reason string, tokens ...string) {
		for _, token := range tokens {
			s.world.jobs[token].seen = offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: offer.Queued, Attempt: 1, Reason: reason, Cause: cause}
		}
	}
	first, second := s.world.order[0], s.world.order[1]
	held(offer.JobHeld, "held; `muster resume` releases it", first, second)
	resume(2, "released 2 jobs in the queue")
	held("", "held by an administrator", first)
	held("", "others come first", second)
	resume(0, "nothing was held")
	held(offer.JobHeld, "held by muster again: slurmctld was killed, and has forgotten that it was let go; the next `muster apply` releases it", second)
	resume(1, "released 1 job in the queue")
	held("", "others come first", second)
	held(offer.JobHeld, "held", first)
	resume(1, "released 1 job in the queue")
	m, f, camp := s.disk.open(nil), &fake{world: s.world}, s.load()
	hold := request.Request{Verb: request.Hold, Who: "bob", Addresses: []string{s.world.jobs[second].Address}}
	if a, err := Do(t.Context(), s.config(s.plan(camp, m.st, f), camp, m, f), hold); err != nil || a.Jobs != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	held(offer.JobHeld, "held", second) // at its word
	resume(2, "released 2 jobs, 1 of them in the queue")
}

func TestStoreThatFailsStopsSubmittingAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	n := 0
	full := errors.New("no space left on device")
	s.conf = func(c *Config) {
		c.Session.(*memory).alive = func() error {
			if n++; n > 1 {
				return full
			}
			return nil
		}
	}
	before := len(s.world.jobs)
	o, err := s.apply(t.Context(), nil)
	if !errors.Is(err, full) || o.Stopped != progress.StoreFailed || !strings.Contains(err.Error(), "make room") {
		t.Errorf("outcome %+v, error %v", o, err)
	}
	if got := len(s.world.jobs) - before; got > 6 {
		t.Errorf("%d jobs were submitted", got)
	}
	s.conf = nil
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
}

func TestLostLeaseStopsSubmitting(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.stall = true
	s.conf = func(c *Config) {
		m := c.Session.(*memory)
		c.Event = func(ev state.Event) {
			if ev.Kind() == "submitted" && m.syncs < 100 {
				m.syncs = 100
				close(m.lost)
			}
		}
	}
	o, err := s.apply(t.Context(), nil)
	if err == nil || o.Stopped != progress.LeaseLost {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}

var _ = offer.Found

// TestDoAfterACrash: a request is done at once whatever an apply left behind,
// and what it did not send stays so.
func TestDoAfterACrash(t *testing.T) {
	t.Parallel()
	for steps := 1; steps < 40; steps++ {
		s := newStage(t, chain)
		ctx, die := context.WithCancel(t.Context())
		m := &mortal{left: steps, die: die}
		s.conf = func(c *Config) { c.Session.(*memory).alive = m.step }
		_, err := s.applyMortal(ctx, m)
		die()
		s.conf = nil
		if err == nil {
			break // it was done before
		}
		sent := len(s.world.jobs)
		mem, f, c := s.disk.open(nil), &fake{world: s.world}, s.load()
		conf := s.config(s.plan(c, mem.st, f), c, mem, f)
		limited, stop := context.WithTimeout(t.Context(), doEnds/2)
		a, err := Do(limited, conf, request.Request{Verb: request.Cancel, Who: "bob", Addresses: []string{"phase.c"}})
		stop()
		if err != nil || a.Error != "" || len(s.world.jobs) != sent {
			t.Fatalf("after %d steps, %d jobs sent and %d then: %+v, %v\n%s", steps, sent, len(s.world.jobs), a, err, s.story())
		}
	}
}
