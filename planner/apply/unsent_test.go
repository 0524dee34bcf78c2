package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A troubled backend accepts jobs, submits the first of them, and cannot tell of
// the rest why it did not.
type troubled struct {
	*fake
	submits int32         // how many it has in its scheduler
	heals   *atomic.Int32 // submissions until all goes well
	held    offer.Holder  // who holds them there
}

func (b *troubled) stage(token string) (offer.Stage, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, t := range b.order {
		if t == token && (int32(i) < b.submits || b.heals.Load() <= 0) {
			if b.heals.Load() <= 0 {
				return offer.Released, token
			}
			return offer.Submitted, token
		}
	}
	return offer.Accepted, ""
}

func (b *troubled) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b.heals.Add(-1)
	out, err := b.fake.Submit(ctx, r)
	for i := range out {
		out[i].Stage, out[i].Handle = b.stage(out[i].Token)
		if out[i].HeldBy = b.held; out[i].Stage == offer.Accepted {
			out[i].Err = providers.Errorf(providers.Unreachable, "the scheduler did not answer")
		}
	}
	return out, err
}

func (b *troubled) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	out, err := b.fake.Find(ctx, name, tokens)
	for i := range out {
		out[i].Stage, out[i].Handle = b.stage(out[i].Token)
		out[i].HeldBy = b.held
	}
	return out, err
}

// TestDetachSaysWhatIsNotSubmitted: what a backend only accepted, or holds until
// the rest is in, is not counted as queued,; retrying before the run
// gives up.
func TestDetachSaysWhatIsNotSubmitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heals                 int32
		held                  offer.Holder
		queued, there, unsent int
	}{
		"it goes on failing":    {heals: 99, there: 2, unsent: 4},
		"the second goes well":  {heals: 2, queued: 6},
		"an administrator":      {held: offer.HeldByAdmin, there: 6},
		"nothing goes wrong":    {queued: 6},
		"the third only":        {heals: 3, queued: 6},
		"and somebody holds it": {heals: 2, held: offer.HeldByUser, there: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, grid)
			s.world.can.HostQueue, s.world.can.Arrays, s.world.stall = false, true, true
			var heals atomic.Int32
			heals.Store(c.heals)
			s.conf = func(conf *Config) {
				detached(conf)
				whole := conf.Provider
				conf.Provider = func(name string) (providers.Provider, error) {
					p, err := whole(name)
					if err != nil {
						return nil, err
					}
					return &troubled{fake: p.(*fake), submits: 2, heals: &heals, held: c.held}, nil
				}
			}
			o := s.must(t.Context())
			if o.Stopped != progress.Detached || o.Queued != c.queued || o.HeldThere != c.there || o.Unsent != c.unsent || o.Left != 0 {
				t.Errorf("%+v", o)
			}
			on := 0
			for _, q := range o.QueuedOn {
				on += q.Jobs
			}
			if on != c.queued || o.Stranded() != (c.there+c.unsent > 0) || (o.UnsentWhy != "") != (c.unsent > 0) {
				t.Errorf("%d will start: %+v", on, o)
			}
			if n := len(s.world.order); n != 6 {
				t.Errorf("the backend has %d jobs", n)
			}
		})
	}
}

// TestHeldByHandIsSaidOnce: jobs that somebody holds in their queue under a running
// apply are named once, in one line, and are not counted as queued.
func TestHeldByHandIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	w := s.world
	w.can.HostQueue, w.can.Arrays, w.stall = false, true, true
	tell := func(by offer.Holder, why string) { // the caller holds mu
		for _, token := range w.order[:4] {
			w.tell(offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: offer.Queued, Attempt: 1, Reason: why, Stage: offer.Released, HeldBy: by})
		}
	}
	steps := []func(progress.Phase) bool{ // each is waited for before the next
		func(p progress.Phase) bool {
			if p.Queued == 6 {
				tell(offer.HeldByAdmin, "held by an administrator")
			}
			return p.Queued == 6
		},
		func(p progress.Phase) bool {
			if p.HeldThere == 4 && p.Queued == 2 {
				tell(offer.HeldByAdmin, "still held by an administrator")
				tell("", "others come first")
				w.stall = false
			}
			return p.HeldThere == 4
		},
	}
	s.conf = func(c *Config) {
		note := c.Progress
		c.Progress = func(r progress.Snapshot) {
			note(r)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(r.Phases) == 1 && len(steps) > 0 && steps[0](r.Phases[0]) {
				steps = steps[1:]
			}
		}
	}
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	said := s.notesWith("administrator")
	if len(said) != 1 || !strings.Contains(said[0], "and 3 more are held: by an administrator") {
		t.Errorf("it was said %q", said)
	}
}

// TestProgressSaysWhyJobsAreUnsubmitted: while a machine boots for jobs, the progress says so, and
// no longer when they are there.
func TestProgressSaysWhyJobsAreUnsubmitted(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	w := s.world
	w.can.HostQueue, w.can.Arrays, w.can.Rents, w.stall = false, true, true, true
	var seen []string
	s.conf = func(c *Config) {
		note := c.Progress
		c.Progress = func(r progress.Snapshot) {
			note(r)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(r.Phases) == 0 {
				return
			}
			p := r.Phases[0]
			if text := fmt.Sprintf("%d %s", p.Unsubmitted, p.Unsent); p.Done < 6 && !slices.Contains(seen, text) {
				seen = append(seen, text)
			}
			if p.Queued == 6 && len(seen) == 1 {
				for _, token := range w.order {
					w.tell(offer.Observation{Token: token, Presence: offer.Found, Status: offer.Queued, Attempt: 1, Reason: "machine 7 is booting", Stage: offer.Accepted})
				}
			}
			if p.Unsubmitted == 6 && p.Unsent != "" {
				w.stall = false
			}
		}
	}
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	if !slices.Contains(seen, "6 machine 7 is booting") || !slices.Contains(seen, "0 ") {
		t.Errorf("it was said %q", seen)
	}
}

// TestNoRoomIsSaidOnce: a backend whose queue starts nothing, since its workdir or its own folder
// takes no files, is named once, with the reason.
func TestNoRoomIsSaidOnce(t *testing.T) {
	t.Parallel()
	t.Run("workdir", func(t *testing.T) {
		t.Parallel()
		s := roomless(t, offer.NoRoom, "nothing starts: the disk is full")
		gone, back := s.notesWith("starts nothing"), s.notesWith("takes files again")
		if len(gone) != 1 || !strings.Contains(gone[0], "starts nothing until its workdir takes files, and the others continue: the disk is full") || len(back) != 1 {
			t.Errorf("it said %q and %q", gone, back)
		}
	})
	t.Run("spool", func(t *testing.T) {
		t.Parallel()
		s := roomless(t, offer.NoSpool, "the spool is full, so nothing starts")
		if said := s.notesWith("nothing starts"); len(said) != 1 || !strings.Contains(said[0], "nothing starts. Jobs there start by themselves") {
			t.Errorf("it said %q", said)
		}
	})
}

// roomless applies a campaign whose queue has no room at first, and says so more than once.
func roomless(t *testing.T, cause offer.Cause, why string) *stage {
	s := newStage(t, grid)
	w := s.world
	w.can.HostQueue, w.can.Arrays, w.stall = false, true, true
	tell := func(why string) { // the caller holds mu
		for _, token := range w.order {
			w.tell(offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: offer.Queued, Attempt: 1, Reason: why, Cause: cause})
		}
	}
	told, again := false, false
	s.conf = func(c *Config) {
		note := c.Progress
		c.Progress = func(r progress.Snapshot) {
			note(r)
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case !told && len(r.Phases) == 1 && r.Phases[0].Queued == 6:
				told = true
				tell(why)
			case !again && (strings.Contains(r.Note, "start by themselves") || strings.Contains(r.Note, "starts nothing")):
				again, w.stall = true, false
				tell(why + ": 3 bytes free")
			}
		}
	}
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	return s
}

// TestLimitsAreToldAgain: a queue that does not take the limits of its campaign gets them again,
// also when it has all its jobs, and the user reads once that it did not.
func TestLimitsAreToldAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(grid, "place {", "max_parallel = 2\n  place {", 1))
	s.world.can.HostQueue, s.world.can.Arrays, s.world.stall = false, true, true
	d := &deaf{fake: &fake{world: s.world}, refuse: 3}
	s.conf = func(c *Config) { c.Provider = func(string) (providers.Provider, error) { return d, nil } }
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	if said := s.notesWith("did not take"); len(said) != 1 || !strings.Contains(said[0], "did not take the limits of this campaign: the line is busy. muster tries again") {
		t.Errorf("it said %q", said)
	}
}

// A deaf backend takes no order at first, and starts nothing until it knows its limits.
type deaf struct {
	*fake
	refuse int
}

func (d *deaf) Control(ctx context.Context, r providers.ControlRequest) error {
	if r.Hold != nil && len(r.Tokens) == 0 {
		d.mu.Lock()
		d.refuse--
		deaf := d.refuse >= 0
		d.stall = deaf || len(r.Phases) == 0
		d.mu.Unlock()
		if deaf {
			return providers.Errorf(providers.Unreachable, "the line is busy")
		}
	}
	return d.fake.Control(ctx, r)
}

// TestHoldReachesAQueueThatWasAway: the hold and the resume of jobs whose queue does not answer
// reach it when it does.
func TestHoldReachesAQueueThatWasAway(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	w := s.world
	w.can.HostQueue, w.can.Arrays, w.stall = false, true, true
	a := &outOfReach{fake: &fake{world: w}}
	dir := t.TempDir()
	queued := make(chan bool, 1)
	s.conf = func(c *Config) {
		c.Requests = dir
		c.Provider = func(string) (providers.Provider, error) { return a, nil }
		show := c.Progress
		c.Progress = func(r progress.Snapshot) {
			show(r)
			if len(r.Phases) == 1 && r.Phases[0].Queued == 6 {
				select {
				case queued <- true:
				default:
				}
			}
		}
	}
	done := make(chan progress.Outcome)
	go func() { done <- s.must(context.WithoutCancel(t.Context())) }()
	<-queued
	order := func(v request.Verb, want int) {
		t.Helper()
		w.mu.Lock()
		a.away = 2
		w.mu.Unlock()
		if got, err := request.Send(t.Context(), dir, request.Request{Verb: v, Who: "bob", Addresses: []string{`phase.a["n=1"]`, `phase.a["n=2"]`}}, time.Minute); err != nil || got.Error != "" {
			t.Fatalf("%s: %v %+v", v, err, got)
		}
		for n := -1; n != want; time.Sleep(time.Millisecond) {
			n = 0
			w.mu.Lock()
			for _, j := range w.jobs {
				if j.held {
					n++
				}
			}
			w.mu.Unlock()
		}
	}
	order(request.Hold, 2)
	order(request.Resume, 0)
	w.mu.Lock()
	w.stall = false
	w.mu.Unlock()
	s.check(<-done, "end done=6 failed=0 held=0 blocked=0 left=0")
	if said := s.notesWith("did not take"); len(said) != 2 || !strings.Contains(said[0], "the hold: it is away. muster tries again") || !strings.Contains(said[1], "the release of held jobs") {
		t.Errorf("it said %q", said)
	}
}

// submittedSix has six jobs in a queue that starts none of them, and muster off.
func submittedSix(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, grid)
	s.world.can.HostQueue, s.world.can.Arrays, s.world.stall = false, true, true
	s.conf = detached
	if o := s.must(t.Context()); o.Queued != 6 {
		t.Fatalf("submitted: %+v", o)
	}
	s.conf = nil
	return s
}

// TestHoldThatIsNotTaken: a hold with muster off says which queue did not take it and may start
// its jobs, and a resume says which one keeps holding them.
func TestHoldThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s := submittedSix(t)
	for _, c := range []struct {
		verb             request.Verb
		away             int
		jobs, notReached int
		says             string
	}{
		{request.Hold, 1 << 20, 0, 2, "backend.local.local did not take the hold, and may start 2 jobs: it is away; run `muster hold` again when it answers"},
		{request.Hold, 0, 2, 0, "2 jobs do not start until `muster resume`; running jobs continue"},
		{request.Resume, 1 << 20, 2, 2, "released 2 jobs; backend.local.local did not take the release, and may still hold 2 jobs: it is away; the next `muster apply` tries again"},
	} {
		m, f, camp := s.disk.open(nil), &outOfReach{fake: &fake{world: s.world}, away: c.away}, s.load()
		conf := s.config(s.plan(camp, m.st, f.fake), camp, m, f.fake)
		conf.Provider = func(string) (providers.Provider, error) { return f, nil }
		a, err := Do(t.Context(), conf, request.Request{Verb: c.verb, Who: "bob", Addresses: []string{`phase.a["n=1"]`, `phase.a["n=2"]`}})
		if err != nil || a.Jobs != c.jobs || a.NotReached != c.notReached || a.Text != c.says {
			t.Errorf("%s: %+v, %v; want %q", c.verb, a, err, c.says)
		}
	}
}

// TestHoldOfABackendThatIsAway: nothing can be said to a backend that cannot be configured.
func TestHoldOfABackendThatIsAway(t *testing.T) {
	t.Parallel()
	s := submittedSix(t)
	m, f, camp := s.disk.open(nil), &fake{world: s.world}, s.load()
	conf := s.config(s.plan(camp, m.st, f), camp, m, f)
	conf.Provider = func(string) (providers.Provider, error) { return unconfigured{f}, nil }
	a, err := Do(t.Context(), conf, request.Request{Verb: request.Hold, Who: "bob"})
	if err != nil || a.Jobs != 0 || a.NotReached != 6 {
		t.Errorf("%+v, %v", a, err)
	}
}

type unconfigured struct{ *fake }

func (unconfigured) Configure(context.Context, providers.Backend) error {
	return providers.Errorf(providers.Unreachable, "no route to host")
}

// A backend that is outOfReach hears no order about jobs while it is away.
type outOfReach struct {
	*fake
	away int
}

func (a *outOfReach) Control(ctx context.Context, r providers.ControlRequest) error {
	if len(r.Tokens) > 0 {
		a.mu.Lock()
		a.away--
		away := a.away >= 0
		a.mu.Unlock()
		if away {
			return providers.Errorf(providers.Unreachable, "it is away")
		}
	}
	return a.fake.Control(ctx, r)
}

// A severed backend takes no job: the process dies between its intent and the answer.
type severed struct {
	*fake
	die context.CancelFunc
}

func (b severed) Submit(ctx context.Context, _ providers.SubmitRequest) ([]providers.Submitted, error) {
	b.die()
	return nil, ctx.Err()
}

// TestSentAgainUnderTheLaterApproval: a job that never arrived is counted by the plan that
// submits it, and by no other.
func TestSentAgainUnderTheLaterApproval(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	ctx, die := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Session.(*memory).alive = ctx.Err
		c.Provider = func(string) (providers.Provider, error) {
			return severed{fake: &fake{world: s.world}, die: die}, nil
		}
	}
	_, _ = s.apply(ctx, nil)
	st := s.state()
	unsent := 0
	for _, j := range st.Jobs {
		if j.Status == state.Submitting {
			unsent++
		}
	}
	if unsent != 6 || len(s.world.jobs) != 0 || len(st.Approvals) != 1 {
		t.Fatalf("%d unsent jobs, %d at the backend, %d approvals", unsent, len(s.world.jobs), len(st.Approvals))
	}
	s.conf = nil
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	st = s.state()
	if len(st.Approvals) != 2 || len(st.Ledger) != 6 {
		t.Fatalf("%d approvals, %d entries", len(st.Approvals), len(st.Ledger))
	}
	for _, e := range st.Ledger {
		if e.Plan != st.Approvals[1].Plan {
			t.Errorf("%s is billed to %s, not to the later plan %s", e.Address, e.Plan, st.Approvals[1].Plan)
		}
	}
}

// TestJobsThatABackendKeeps: where machines are rented, jobs wait for one.
func TestJobsThatABackendKeeps(t *testing.T) {
	t.Parallel()
	cluster, cloud := &backends.Backend{Contact: &backends.Contact{}}, &backends.Backend{Contact: &backends.Contact{}}
	cluster.Name, cloud.Name = "slurm.cl", "vastai.cloud"
	cloud.Can.Rents = true
	for want, k := range map[string]keptJobs{
		"backend.slurm.cl takes no more jobs now; 2 jobs follow as room appears: qos": {cluster, 2, "qos"},
		"backend.slurm.cl takes no more jobs now; 1 job follows as room appears":      {cluster, 1, ""},
		"1 job waits for a machine of backend.vastai.cloud: machine 7 is booting":     {cloud, 1, "machine 7 is booting"},
		"3 jobs wait for a machine of backend.vastai.cloud: no offer":                 {cloud, 3, "waits for a machine: no offer"},
		"2 jobs wait for a machine of backend.vastai.cloud":                           {cloud, 2, "waits for a machine"},
	} {
		if got := k.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
