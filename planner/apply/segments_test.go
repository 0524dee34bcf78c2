package apply

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

const long = `
phase "a" {
  checkpoint {
    path     = "ck/latest"
    interval = "30m"
    signal   = "USR1"
    grace    = "90s"
  }
  job {
    command = "train ${checkpoint} > ${output.o}"
    resources { walltime = "30h" }
    output "o" { path = "a.txt" }
  }
}`

// chained runs the long phase where a launch lasts at most a day, and files are
// asked for so often in vain.
func chained(t *testing.T, moved bool, vain int) (*stage, progress.Outcome) {
	s := newStage(t, long)
	s.world.unlisted = vain
	s.world.walltime = 24 * time.Hour
	s.world.can.HostQueue, s.world.can.Retries = false, false
	ck := s.dir + "/ck/latest"
	s.world.lists, s.world.mtimes = map[string][]string{ck: {ck}}, map[string]time.Time{}
	if moved {
		s.world.mtimes[ck] = time.Now().Add(time.Hour)
	}
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Attempt == 1 {
			return jobResult{exit: 143, class: "walltime"}
		}
		return jobResult{}
	}
	return s, s.must(t.Context())
}

func TestWorkLongerThanItsPoolIsChainedByItsCheckpoint(t *testing.T) {
	// Requirement: ARR-03, WT-02
	t.Parallel()
	s, o := chained(t, true, 0)
	s.check(o, "end done=1 failed=0 held=0 blocked=0 left=0")
	for _, j := range s.world.jobs {
		if j.Shape.Walltime != 15*time.Hour || j.Checkpoint.Interval != 30*time.Minute || j.Checkpoint.Signal != "USR1" || j.Checkpoint.Grace != 90*time.Second {
			t.Errorf("launch %d: walltime %s, checkpoint %+v", j.Attempt, j.Shape.Walltime, j.Checkpoint)
		}
	}
	if want := "reached its walltime; launch 2 of 2 follows"; !slices.Contains(s.notes, want) {
		t.Errorf("notes %q, without %q", s.notes, want)
	}
	if a := s.state().Jobs["phase.a"].Attempts; len(a) != 2 || a[0].Class != "walltime" {
		t.Errorf("attempts %s", text(a))
	}
}

func TestSegmentWithoutANewCheckpointIsNotFollowed(t *testing.T) {
	// Requirement: MN-05, WT-03
	t.Parallel()
	s, o := chained(t, false, 0)
	s.check(o, "end done=0 failed=1 held=0 blocked=0 left=0")
	if n := len(s.world.jobs); n != 1 {
		t.Errorf("%d launches", n)
	}
}

// A backend that is too busy to answer in time has not said that there is no
// new checkpoint.
func TestSegmentIsFollowedWhenItsBackendAnswersLate(t *testing.T) {
	t.Parallel()
	s, o := chained(t, true, 2)
	s.check(o, "end done=1 failed=0 held=0 blocked=0 left=0")
	s, o = chained(t, false, 1)
	s.check(o, "end done=0 failed=1 held=0 blocked=0 left=0")
}

func TestSegmentsRideWithTheJobWhereItsQueueRetries(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(long, "  job {", "  retry {\n    on           = [\"oom\"]\n    max_attempts = 2\n  }\n  job {", 1))
	s.world.walltime = 24 * time.Hour
	s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
	for _, j := range s.world.jobs {
		if j.Retry.Max != 3 || strings.Join(j.Retry.On, " ") != "oom walltime" {
			t.Errorf("retry %+v", j.Retry)
		}
	}
	if c := s.state().Jobs["phase.a"].Attempts[0].Ceiling; c["cpu_hours"] != "15" {
		t.Errorf("ceiling %v", c)
	}
}

func TestAutomaticIntervalReachesTheJob(t *testing.T) {
	// Requirement: SPT-01
	t.Parallel()
	s := newStage(t, strings.Replace(long, `interval = "30m"`, "interval = \"auto\"\n    mtbf = \"8h\"\n    write_time = \"30s\"", 1))
	s.must(t.Context())
	for _, j := range s.world.jobs {
		if want := 1315 * time.Second; j.Checkpoint.Interval != want { // sqrt(2 × 28800 × 30) = 1314.53
			t.Errorf("interval %s, want %s", j.Checkpoint.Interval, want)
		}
	}
}

func TestScaledLaunchIsBilledAsLargeAsItWas(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(retrying(`"oom"`, "    scale \"oom_host\" { cpus = 4 }\n"), "command", "resources {\n      cpus = 1\n      walltime = \"1h\"\n    }\n    command", 1))
	s.world.result = orOnly(`phase.a["n=1"]`, func(_ providers.Job, launch int) jobResult {
		if launch == 1 {
			return jobResult{exit: 1, class: "oom_host", takes: 40 * time.Millisecond}
		}
		return jobResult{takes: 40 * time.Millisecond}
	})
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	spent := map[int]string{}
	for _, en := range s.state().Ledger {
		if en.Address == `phase.a["n=1"]` {
			spent[en.Attempt] = en.Spent.Get("cpu_hours")
		}
	}
	st := s.state().Jobs[`phase.a["n=1"]`]
	for n, cpus := range map[int]float64{1: 1, 2: 4} {
		a := st.Attempts[n-1]
		want := a.Usage.Elapsed / 3600 * cpus
		if got := number(t, spent[n]); got < want*0.999 || got > want*1.001 {
			t.Errorf("launch %d: %v cpu-hours, want %v", n, got, want)
		}
	}
}

// TestGrownLaunchFitsItsCeiling: a scheduler that starts jobs again by itself leaves those to
// us that need more than it can give; such a launch is as large as the plan expected, and does
// not grow once more.
func TestGrownLaunchFitsItsCeiling(t *testing.T) {
	t.Parallel()
	s := newStage(t, "budget \"b\" { limits = { cpu_hours = 22 } }\n"+strings.NewReplacer("command", "resources {\n      cpus = 1\n      walltime = \"1h\"\n    }\n    command", "[1, 2, 3, 4, 5, 6]", "[1]").Replace(retrying(`"oom"`, "    scale \"oom_host\" { cpus = 4 }\n")))
	s.world.can.HostQueue, s.world.can.Retries = false, true
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Shape.CPUs < 16 {
			return jobResult{exit: 1, class: "oom_host"}
		}
		return jobResult{}
	}
	s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
}

var _ = state.Completed

// A job that was cancelled while its checkpoint was asked for in vain stays
// cancelled: nobody asks on.
func TestACancelledSegmentIsAskedForNoMore(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(strings.Replace(long, "  job {", "  grid { axes = { n = [1, 2] } }\n  job {", 1), "a.txt", "${cell.n}.txt", 1))
	s.world.unlisted = 1000
	s.world.walltime = 24 * time.Hour
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.result = func(j providers.Job, _ int) jobResult {
		if strings.Contains(j.Address, "n=1") {
			return jobResult{exit: 143, class: "walltime"}
		}
		return jobResult{hang: true}
	}
	dir := t.TempDir()
	cancelled := make(chan bool, 2)
	s.conf = func(c *Config) {
		c.Requests = dir
		c.Event = func(ev state.Event) {
			if o, ok := ev.(state.Observed); ok && o.Status == state.Cancelled {
				cancelled <- true
			}
		}
	}
	done := make(chan progress.Outcome)
	go func() { done <- s.must(context.WithoutCancel(t.Context())) }()
	asked := func() int {
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		return 1000 - s.world.unlisted
	}
	for asked() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel := func(n string) {
		if a, err := request.Send(t.Context(), dir, request.Request{Verb: request.Cancel, Who: "bob", Addresses: []string{`phase.a["n=` + n + `"]`}}, time.Minute); err != nil || a.Error != "" {
			t.Errorf("%v %+v", err, a)
		}
	}
	cancel("1")
	<-cancelled
	before := asked()
	time.Sleep(4 * connection.BackoffMin) // for whoever would ask on
	if n := asked(); n != before {
		t.Errorf("asked for %d times after it was cancelled", n-before)
	}
	cancel("2")
	<-done
}
