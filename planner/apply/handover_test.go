package apply

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func detached(c *Config) { c.Mode = Detach }
func once(c *Config)     { c.Mode = Once }

// settle lets the world run on without anybody looking.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 60_000 {
		w.mu.Lock()
		w.step()
		open := 0
		for _, j := range w.jobs {
			if j.status == offer.Running || j.status == offer.Queued && w.afterDone(j) && !w.hold && !j.held {
				open++
			}
		}
		w.mu.Unlock()
		if open == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the world does not settle")
}

func TestDetachHandsOverWhatRunsByItself(t *testing.T) {
	// Requirement: DEP-05, WCH-01
	t.Parallel()
	s := newStage(t, chain)
	s.world.slots = 1
	s.world.result = func(providers.Job, int) jobResult { return jobResult{takes: time.Millisecond} }
	s.conf = detached
	o := s.must(t.Context())
	if o.Stopped != progress.Detached || o.Submitted != 10 || o.First != "" {
		t.Errorf("outcome %+v", o)
	}
	s.world.settle(t)
	for _, j := range s.world.jobs {
		if j.Address == "phase.c" && len(j.After) != 6 {
			t.Errorf("phase.c comes after %v", j.After)
		}
	}
	s.conf = nil
	s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
	if n := len(s.world.logs); n != 10 {
		t.Errorf("%d launches", n)
	}
}

// A crowded scheduler takes so many jobs of ours and leaves the rest with its
// backend: others of the account have the room.
type crowded struct {
	*fake
	room int
}

func (c *crowded) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	out, err := c.fake.Submit(ctx, r)
	for i := range out {
		if c.room--; c.room < 0 {
			out[i].Handle = ""
		}
	}
	return out, err
}

// TestDetachCountsWhatTheSchedulerTook: what a scheduler took no more of, though
// its limit alone would have allowed it, is left and not submitted, and said.
func TestDetachCountsWhatTheSchedulerTook(t *testing.T) {
	t.Parallel()
	for room, c := range map[int]struct {
		handed, left int
		first        string
	}{
		9: {6, 0, ""},
		6: {6, 0, ""},
		5: {5, 1, "takes no more jobs now; 1 job follows as room appears"},
		0: {0, 6, "takes no more jobs now; 6 jobs follow as room appears"},
	} {
		s := newStage(t, grid)
		s.world.can.HostQueue, s.world.can.Arrays, s.world.stall = false, true, true
		s.conf = func(c *Config) {
			detached(c)
			whole := c.Provider
			c.Provider = func(name string) (providers.Provider, error) {
				p, err := whole(name)
				if err != nil {
					return nil, err
				}
				return &crowded{p.(*fake), room}, nil
			}
		}
		o := s.must(t.Context())
		queued := 0
		for _, on := range o.QueuedOn {
			queued += on.Jobs
		}
		if o.Submitted != c.handed || o.Queued != c.handed || queued != c.handed || o.Left != c.left || !strings.HasSuffix(o.First, c.first) || (o.First == "") != (c.first == "") {
			t.Errorf("room for %d: outcome %+v", room, o)
		}
	}
}

// A queueing backend keeps, of what it was given, what its scheduler has no
// room for, and tries again whenever it is called to submit.
type keeping struct {
	*fake
	room  *atomic.Int32 // jobs that the scheduler has yet to take
	taken *sync.Map     // by token
}

func (k *keeping) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	out, err := k.fake.Submit(ctx, r)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, token := range k.order {
		if _, had := k.taken.Load(token); !had && k.room.Load() > 0 {
			k.room.Add(-1)
			k.taken.Store(token, true)
		}
	}
	for i := range out {
		out[i].Handle = k.handle(out[i].Token)
	}
	return out, err
}

func (k *keeping) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	out, err := k.fake.Find(ctx, name, tokens)
	for i := range out {
		out[i].Handle = k.handle(out[i].Token)
	}
	return out, err
}

func (k *keeping) handle(token string) string {
	if _, had := k.taken.Load(token); had {
		return token
	}
	return ""
}

// TestDetachAgainHandsOverWhatIsKept: each pass has the backend submit what
// it kept of the one before, as far as there is room by now, and counts the rest
// as left; nothing is given to it twice.
func TestDetachAgainHandsOverWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.can.HostQueue, s.world.can.Arrays, s.world.stall = false, true, true
	var room atomic.Int32
	var taken sync.Map
	pass := func(mode func(*Config)) func(*Config) {
		return func(c *Config) {
			mode(c)
			whole := c.Provider
			c.Provider = func(name string) (providers.Provider, error) {
				p, err := whole(name)
				if err != nil {
					return nil, err
				}
				return &keeping{p.(*fake), &room, &taken}, nil
			}
		}
	}
	for i, c := range []struct {
		mode         func(*Config)
		more         int32
		queued, left int
		first        string
	}{
		{detached, 2, 2, 4, "takes no more jobs now; 4 jobs follow as room appears"},
		{detached, 0, 2, 4, "takes no more jobs now; 4 jobs follow as room appears"},
		{once, 3, 5, 1, "takes no more jobs now; 1 job follows as room appears"},
		{detached, 9, 6, 0, ""},
		{detached, 0, 6, 0, ""},
	} {
		room.Add(c.more)
		s.conf = pass(c.mode)
		o := s.must(t.Context())
		queued := 0
		for _, on := range o.QueuedOn {
			queued += on.Jobs
		}
		if o.Queued != c.queued || queued != c.queued || o.Left != c.left || !strings.HasSuffix(o.First, c.first) || (o.First == "") != (c.first == "") {
			t.Errorf("pass %d: outcome %+v", i, o)
		}
		if n := len(s.world.order); n != 6 {
			t.Errorf("pass %d: the backend has %d jobs", i, n)
		}
	}
}

// TestWhatFailedIsNotWaitedFor: jobs after a failed one wait for a person's fix, not for
// muster.
func TestWhatFailedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t, chain)
	s.world.result = func(j providers.Job, _ int) jobResult {
		r := jobResult{takes: time.Millisecond}
		if strings.HasPrefix(j.Address, "phase.a") && !strings.Contains(j.Address, "3") {
			r.exit = 1
		}
		return r
	}
	s.conf = detached
	s.must(t.Context())
	s.world.settle(t)
	s.conf = once
	o := s.must(t.Context())
	for _, says := range []string{"phase.b waits for phase.a (3 jobs: 2 ", "`muster status`", "`muster resume phase.a`"} {
		if !strings.Contains(o.First, says) {
			t.Errorf("no %q in %q (%+v)", says, o.First, o)
		}
	}
}

func TestDetachStopsAtAGateOnExpectAndOnceCarriesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(providers.Job, int) jobResult {
		return jobResult{metrics: map[string]string{"loss": "1"}, takes: time.Millisecond}
	}
	s.conf = detached
	o := s.must(t.Context())
	if o.Submitted != 2 || !strings.Contains(o.First, "smoke") || o.Next != "muster apply -once" {
		t.Errorf("detach %+v", o)
	}
	s.conf = once
	for range 6 {
		s.world.settle(t)
		o = s.must(t.Context())
	}
	s.world.settle(t)
	s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
	if st := s.state(); len(st.Approvals) != 1 || st.Approvals[0].Outcome != "done" {
		t.Errorf("approvals %s", text(st.Approvals))
	}
}

func TestOnceDoesNothingThatWasNotApproved(t *testing.T) {
	// Requirement: ESC-03, WCH-01
	t.Parallel()
	s := newStage(t, grid)
	s.conf = once
	if o := s.must(t.Context()); o.Stopped != progress.Beyond || len(s.world.jobs) != 0 {
		t.Errorf("never approved: %+v", o)
	}
	s.conf = detached
	s.must(t.Context())
	s.world.settle(t)
	s.write(grid + one[:0] + strings.Replace(one, `"a"`, `"z"`, 1))
	s.conf = once
	if o := s.must(t.Context()); o.Stopped != progress.Beyond || len(s.world.jobs) != 6 {
		t.Errorf("changed since: %+v", o)
	}
}

// TestOnceWatchesWhatRunsAlready: where nothing is to be started, nothing is
// beyond what was approved, however the campaign changed since; nor is anything
// started then.
func TestOnceWatchesWhatRunsAlready(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true} }
	s.conf = detached
	s.must(t.Context())
	s.write("campaign \"c\" {\n  max_parallel = 3\n}\n" + grid)
	s.conf = once
	if o := s.must(t.Context()); o.Stopped != progress.None || o.Why != "" || o.Next != "muster apply -once" || o.Running+o.Queued != 6 || o.Submitted != 0 {
		t.Errorf("%+v", o)
	}
}

// brokenChain is a chain that was submitted, and of which one job has failed
// since.
func brokenChain(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, chain)
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Address == `phase.a["n=2"]` {
			return jobResult{exit: 3, class: "nan"}
		}
		return jobResult{}
	}
	s.conf = detached
	s.must(t.Context())
	s.world.settle(t)
	s.conf = nil
	return s
}

func TestFailureTakesBackWhatWasQueuedBehindIt(t *testing.T) {
	t.Parallel()
	s := brokenChain(t)
	s.check(s.must(t.Context()), "end done=6 failed=1 held=0 blocked=3 left=0")
}

// A vague place cannot say at first what became of any job: its host is away.
type vague struct {
	*fake
	asked atomic.Bool
}

func (v *vague) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	obs, err := v.fake.Find(ctx, name, tokens)
	if !v.asked.Swap(true) {
		for i := range obs {
			obs[i] = offer.Observation{Token: obs[i].Token, Presence: offer.Unknown}
		}
	}
	return obs, err
}

// TestTakenBackWhenItIsKnownAgain: what comes after a job that failed is taken
// back, too, where the failure is heard of while nobody can say yet whether it
// still waits.
func TestTakenBackWhenItIsKnownAgain(t *testing.T) {
	t.Parallel()
	s := brokenChain(t)
	v := &vague{fake: &fake{world: s.world}}
	s.conf = func(c *Config) { c.Provider = func(string) (providers.Provider, error) { return v, nil } }
	s.check(s.must(t.Context()), "end done=6 failed=1 held=0 blocked=3 left=0")
	if !v.asked.Load() {
		t.Error("nobody asked")
	}
}

// An unhurried place says how full its volumes are when it is let.
type unhurried struct {
	*fake
	let func()
}

func (u *unhurried) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	u.let()
	return u.fake.Preflight(ctx, name, checks)
}

// TestTakenBackWhileRoomIsAskedFor: what has to be taken back while a place has
// not said yet whether its volumes have room is taken back when it has.
func TestTakenBackWhileRoomIsAskedFor(t *testing.T) {
	t.Parallel()
	s := brokenChain(t)
	let := func() { // when the two that come after it are gone, and the last may be found waiting for them
		for ; ; time.Sleep(time.Millisecond) {
			s.disk.mu.Lock()
			n := 0
			for _, ev := range s.disk.events {
				if o, ok := ev.(state.Observed); ok && o.Status == state.Cancelled {
					n++
				}
			}
			s.disk.mu.Unlock()
			if n == 2 {
				return
			}
		}
	}
	s.conf = func(c *Config) {
		c.Provider = func(string) (providers.Provider, error) { return &unhurried{&fake{world: s.world}, let}, nil }
	}
	s.check(s.must(t.Context()), "end done=6 failed=1 held=0 blocked=3 left=0")
}

// TestWhatComesAfterWhatIsKept: a run does not wait for jobs that are queued
// behind others which a breaker or a hold keeps in their queue.
func TestWhatComesAfterWhatIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop   func(s *stage)
		want   string
		queued int
	}{
		"a breaker": {func(s *stage) {
			s.world.result = func(j providers.Job, _ int) jobResult {
				if j.Address == `phase.a["n=1"]` {
					return jobResult{exit: 3, class: "nan"}
				}
				return jobResult{}
			}
		}, "end done=0 failed=1 held=0 blocked=3 left=0", 6},
		"a hold": {func(s *stage) {
			s.conf = func(c *Config) {
				c.Session.Append(state.HoldSet{Hold: state.Hold{Address: "phase.a", Who: "ada", At: time.Now()}})
			}
		}, "hold done=0 failed=0 held=0 blocked=0 left=0", 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(chain, "job {", "breaker { same_error = 1 }\n  job {", 1))
			s.conf = detached
			s.world.stall = true
			s.must(t.Context())
			s.world.mu.Lock()
			s.world.stall = false
			for _, j := range s.world.jobs {
				j.held = strings.HasPrefix(j.Address, "phase.a") && (name == "a hold" || j.Address != `phase.a["n=1"]`)
			}
			s.world.mu.Unlock()
			s.conf = nil
			c.stop(s)
			s.world.settle(t)
			o := s.must(t.Context())
			if s.check(o, c.want); o.Queued != c.queued {
				t.Errorf("%d are queued, want %d", o.Queued, c.queued)
			}
		})
	}
}

// TestWhatComesAfterAHeldGate: nor for jobs that are queued behind a smoke or a
// pilot which a hold keeps, whether the run is for all phases or for another.
func TestWhatComesAfterAHeldGate(t *testing.T) {
	t.Parallel()
	gated := func(block string) string {
		return strings.Replace(chain, "job {", "params = { steps = 9 }\n  "+block+"\n  job {", 1) + `
phase "d" {
  job {
    command = "echo > ${output.o}"
    output "o" { path = "d.txt" }
  }
}`
	}
	for name, c := range map[string]struct {
		hcl, held string
		smoke     bool
		target    []string
		want      string
		queued    int
	}{
		"a pilot":                       {gated(`pilot { cells = "first" }`), `phase.a["n=1"]`, false, nil, "hold done=1 failed=0 held=0 blocked=0 left=0", 10},
		"a pilot, another phase wanted": {gated(`pilot { cells = "first" }`), `phase.a["n=1"]`, false, []string{"phase.d"}, "hold done=1 failed=0 held=0 blocked=0 left=0", 10},
		"a smoke":                       {gated("smoke {\n    params = { steps = 1 }\n    cells = \"first\"\n  }"), `phase.a["n=1"]`, true, nil, "hold done=1 failed=0 held=0 blocked=0 left=0", 10},
		"the first of two smokes":       {gated("smoke {\n    params = { steps = 1 }\n    cells = \"ends\"\n  }"), `phase.a["n=1"]`, true, nil, "hold done=1 failed=0 held=0 blocked=0 left=0", 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.hcl)
			s.conf = detached
			s.world.stall = true
			s.must(t.Context())
			s.world.mu.Lock()
			s.world.stall = false
			for _, j := range s.world.jobs {
				j.held = strings.HasPrefix(j.Address, c.held) && (j.Smoke == c.smoke || !c.smoke)
			}
			s.world.mu.Unlock()
			s.opts = planner.Options{Targets: c.target}
			s.conf = func(conf *Config) {
				conf.Session.Append(state.HoldSet{Hold: state.Hold{Address: c.held, Who: "ada", At: time.Now()}})
			}
			s.world.settle(t)
			o := s.must(t.Context())
			if s.check(o, c.want); o.Queued != c.queued {
				t.Errorf("%d are queued, want %d", o.Queued, c.queued)
			}
		})
	}
}

// TestNothingIsHandedOverPastAPilot: without muster no job starts whose pilots have not
// passed, nor before they are done.
func TestNothingIsHandedOverPastAPilot(t *testing.T) {
	t.Parallel()
	piloted := strings.Replace(chain, "job {", "pilot { cells = \"ends\" }\n  job {", 1)
	for name, c := range map[string]struct {
		before, after func(s *stage)
		want          string
	}{
		"it failed": {func(s *stage) {
			s.world.result = func(j providers.Job, _ int) jobResult {
				if j.Address == `phase.a["n=3"]` {
					return jobResult{exit: 3, class: "nan"}
				}
				return jobResult{}
			}
		}, func(s *stage) { s.world.result = nil }, "detached done=3 failed=1 held=0 blocked=6 left=0"},
		"it is held": {func(s *stage) {
			s.conf = func(c *Config) {
				c.Session.Append(state.HoldSet{Hold: state.Hold{Address: `phase.a["n=3"]`, Who: "ada", At: time.Now()}})
			}
		}, func(*stage) {}, "detached done=3 failed=0 held=1 blocked=6 left=0"},
		"it is another job by now": {func(s *stage) {
			s.conf = detached
			s.world.result = func(j providers.Job, _ int) jobResult { return jobResult{hang: j.Address == `phase.a["n=3"]`} }
		}, func(s *stage) {
			s.world.result = nil
			s.write(strings.Replace(piloted, "echo ${cell.n}", "echo -n ${cell.n}", 1))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, piloted)
			c.before(s)
			s.must(t.Context())
			c.after(s)
			s.conf = detached
			if o := s.must(t.Context()); c.want != "" {
				s.check(o, c.want)
			}
			s.world.settle(t)
			s.world.mu.Lock()
			defer s.world.mu.Unlock()
			for _, j := range s.world.jobs {
				if j.Address != `phase.a["n=2"]` || j.status == offer.Cancelled {
					continue
				}
				if c.want != "" || j.status != offer.Completed || len(j.After) != 2 {
					t.Errorf("%s is %s, and comes after %v", j.Address, j.status, j.After)
				}
			}
		})
	}
}

// TestRidersOfWhatFailed: whatever ends a job behind which others were queued,
// the next apply takes them back and comes to an end.
func TestRidersOfWhatFailed(t *testing.T) {
	t.Parallel()
	failing := func(class, address string, smokes bool) func(providers.Job, int) jobResult {
		return func(j providers.Job, _ int) jobResult {
			if j.Address == address && j.Smoke == smokes {
				return jobResult{exit: 3, class: class}
			}
			return jobResult{}
		}
	}
	with := func(block string) string { return strings.Replace(chain, "job {", block+"\n  job {", 1) }
	const smoke = "params = { steps = 9 }\n  smoke {\n    params = { steps = 1 }\n    cells = \"ends\"\n  }"
	for name, c := range map[string]struct {
		hcl    string
		result func(providers.Job, int) jobResult
		want   string
	}{
		"a smoke":                {with(smoke), failing("nan", `phase.a["n=1"]`, true), "end done=0 failed=0 held=0 blocked=10 left=0"},
		"a smoke that passes":    {with(smoke), nil, "end done=10 failed=0 held=0 blocked=0 left=0"},
		"a pilot":                {with("pilot { cells = \"first\" }"), failing("nan", `phase.a["n=1"]`, false), "end done=0 failed=1 held=0 blocked=9 left=0"},
		"held":                   {"failure \"odd\" {\n  match = \"odd\"\n  action = \"hold\"\n}\n" + chain, failing("odd", `phase.a["n=2"]`, false), "end done=6 failed=0 held=1 blocked=3 left=0"},
		"cancelled from outside": {chain, func(j providers.Job, _ int) jobResult { return jobResult{cancel: j.Address == `phase.a["n=2"]`} }, "end done=6 failed=0 held=0 blocked=3 left=0"},
		"launched again": {with("retry {\n    on = [\"oom\"]\n    max_attempts = 3\n    scale \"oom_host\" { memory = 2 }\n  }"), func(j providers.Job, launch int) jobResult {
			if j.Address == `phase.a["n=2"]` && launch == 1 {
				return jobResult{exit: 137, class: "oom_host"}
			}
			return jobResult{}
		}, "end done=10 failed=0 held=0 blocked=0 left=0"},
	} {
		for _, live := range []bool{false, true} { // whether it ends before the next apply, or under its eyes
			t.Run(fmt.Sprintf("%s, live %t", name, live), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, c.hcl)
				s.world.result = c.result
				s.world.stall = live
				s.conf = detached
				s.must(t.Context())
				s.world.mu.Lock()
				s.world.stall = false
				s.world.mu.Unlock()
				if !live {
					s.world.settle(t)
				}
				s.conf = nil
				s.check(s.must(t.Context()), c.want)
				for _, v := range s.state().Validations {
					if v.Fingerprint == "" {
						t.Errorf("a verdict about nothing: %+v", v)
					}
				}
			})
		}
	}
}

// TestNoRetryWithMusterOffPassesABudget: a job is submitted only where all the
// launches that its queue may make of it fit at their ceiling beside all others,
// for nobody asks a budget before the queue makes one.
func TestNoRetryWithMusterOffPassesABudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit, jobs, attempts := rapid.IntRange(1, 9).Draw(rt, "budget"), rapid.IntRange(1, 4).Draw(rt, "jobs"), rapid.IntRange(1, 4).Draw(rt, "attempts")
		fails := rapid.SliceOfN(rapid.Bool(), 16, 16).Draw(rt, "fails")
		s := newStage(t, fmt.Sprintf(`
budget "b" { limits = { usd = %d } }
phase "a" {
  grid { axes = { n = range(%d) } }
  job {
    command = "train ${cell.n}"
    resources { walltime = "1h" }
  }
  retry {
    on           = ["node_failure"]
    max_attempts = %d
    delay        = "1ms"
  }
}`, limit, jobs, attempts))
		s.world.price, s.world.can.HostQueue, s.world.can.Retries = offer.Price{USDPerHour: "1"}, true, true
		s.world.result = func(j providers.Job, launch int) jobResult {
			if fails[(int(j.Address[len(j.Address)-3])*4+launch)%len(fails)] {
				return jobResult{exit: 1, class: "node_failure", lasted: time.Hour}
			}
			return jobResult{lasted: time.Hour}
		}
		handed := 0
		for range rapid.IntRange(1, 3).Draw(rt, "passes") {
			s.conf = detached
			o := s.must(t.Context())
			if handed == 0 {
				handed = o.Submitted
				if want := min(jobs, limit/attempts); handed != want {
					rt.Errorf("%d of %d jobs are handed over, of up to %d launches each, for $%d; not %d", handed, jobs, attempts, limit, want)
				}
			}
			s.world.settle(t)
			if n := len(s.world.starts); n > limit {
				rt.Fatalf("%d launches at $1 each, of $%d", n, limit)
			}
		}
	})
}
