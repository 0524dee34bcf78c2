package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A loop runs what is posted when the test says so.
type loop struct {
	t    *testing.T
	in   chan func()
	done context.Context
}

func (l *loop) Post(f func()) {
	select {
	case l.in <- f:
	case <-l.done.Done():
	}
}
func (l *loop) Later(_ time.Duration, f func()) { l.Spawn(func() { l.Post(f) }) }
func (l *loop) Spawn(f func())                  { go f() }
func (l *loop) Park(func() bool)                {}
func (l *loop) Done() <-chan struct{}           { return l.done.Done() }

func (l *loop) until(holds func() bool) {
	l.t.Helper()
	limit := time.After(time.Minute)
	for !holds() {
		select {
		case f := <-l.in:
			f()
		case <-limit:
			l.t.Fatal("nothing comes any more")
		}
	}
}

// A script is a backend that answers as it is told to.
type script struct {
	providers.Provider
	submit func(n int) ([]providers.Submitted, error)
	find   func(token string) (offer.Observation, error)
	sent   int // calls of Submit
}

func (s *script) Schema(context.Context) (offer.Schema, error)            { return offer.Schema{}, nil }
func (s *script) Configure(context.Context, providers.Backend) error      { return nil }
func (s *script) Pools(context.Context, string) ([]offer.Pool, error)     { return nil, nil }
func (s *script) Control(context.Context, providers.ControlRequest) error { return nil }
func (s *script) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	s.sent++
	return s.submit(len(r.Jobs))
}

func (s *script) Find(_ context.Context, _ string, tokens []string) (out []offer.Observation, err error) {
	for _, t := range tokens {
		o, err := s.find(t)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// A run notes what it hears.
type run struct {
	Engine
	set   *Set
	heard *[]string
	seen  offer.Observation // the last
	notes []string
}

func (r *run) Note(_, text string, _ bool) { r.notes = append(r.notes, text) }

func (r *run) Hear(n News) {
	if _, ok := n.(Met); !ok {
		*r.heard = append(*r.heard, fmt.Sprintf("%T", n))
	}
	switch n := n.(type) {
	case Unsent:
		r.set.Land(n.Attempt)
	case Seen:
		r.seen = *n.O
	}
}

// one is a set of one place, on which one job was minted, and what was heard.
func one(t *testing.T, s *script) (*Set, *loop, *Attempt, *[]string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	l := &loop{t: t, in: make(chan func(), 64), done: ctx}
	heard := &[]string{}
	r := &run{heard: heard}
	set := New(Config{
		Loop: l, Engine: r, Ctx: ctx, Time: clock.Wall, Campaign: &lang.Campaign{}, State: &state.State{Backends: map[string]state.Backend{"lab.x": {Type: "lab", Config: []byte(`{}`)}}},
		Provider: func(string) (providers.Provider, error) { return s, nil },
	})
	r.set = set
	if err := set.Open("lab.x"); err != nil {
		t.Fatal(err)
	}
	f := &Attempt{Key: "phase.a", Addr: "phase.a", Token: "t", B: set.At("lab.x", ""), N: 1, First: 1, Job: &providers.Job{Token: "t"}}
	set.Adopt(f)
	set.Mint(f)
	*heard = nil
	return set, l, f, heard
}

func said(heard *[]string, what string) func() bool {
	return func() bool {
		for _, h := range *heard {
			if h == "backends."+what {
				return true
			}
		}
		return false
	}
}

// TestWhatBrokeIsLookedForBeforeItIsSentAgain: a call that broke says nothing
// of whether its jobs arrived.
func TestWhatBrokeIsLookedForBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found offer.Observation
		news  string
	}{
		"it arrived":        {offer.Observation{Token: "t", Presence: offer.Found, Status: offer.Queued, Handle: "7", Attempt: 1}, "Accepted"},
		"it surely did not": {offer.Observation{Token: "t", Presence: offer.Absent}, "Absent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{submit: func(int) ([]providers.Submitted, error) { return nil, errors.New("broken pipe") },
				find: func(string) (offer.Observation, error) { return c.found, nil }}
			set, l, _, heard := one(t, s)
			set.Send(false)
			l.until(said(heard, c.news))
			if s.sent != 1 {
				t.Errorf("submitted %d times", s.sent)
			}
		})
	}
}

func TestALaterHolderOvertakes(t *testing.T) {
	t.Parallel()
	s := &script{submit: func(int) ([]providers.Submitted, error) {
		return nil, providers.Errorf(providers.StaleFence, "fence 3 after 4")
	}}
	set, l, f, heard := one(t, s)
	set.Send(false)
	l.until(said(heard, "Overtaken"))
	if f.Status != cells.Submitting {
		t.Errorf("the job is %v: nothing is known of it", f.Status)
	}
}

// TestWhatIsMintedForABackendThatIsAwayIsTakenBack: what was sent is unknown,
// what was not goes elsewhere.
func TestWhatIsMintedForABackendThatIsAwayIsTakenBack(t *testing.T) {
	t.Parallel()
	away := errors.New("no route")
	s := &script{submit: func(int) ([]providers.Submitted, error) { return nil, away },
		find: func(string) (offer.Observation, error) { return offer.Observation{}, away }}
	set, l, sent, heard := one(t, s)
	set.Send(false)
	unsent := &Attempt{Key: "phase.b", Addr: "phase.b", Token: "u", B: sent.B, N: 1, First: 1, Job: &providers.Job{Token: "u"}}
	set.Adopt(unsent)
	set.Mint(unsent)
	l.until(func() bool { return said(heard, "Unsent")() && sent.Status == cells.Unknown })
	if !sent.B.Away() || unsent.Status == cells.Unknown {
		t.Errorf("away %v; what never left is %v", sent.B.Away(), unsent.Status)
	}
}

func TestAnEarlierLaunchIsLateNews(t *testing.T) {
	t.Parallel()
	set, _, f, heard := one(t, &script{})
	f.Status, f.N = cells.Running, 2
	set.observe(f.B.Contact, &offer.Observation{Token: "t", Presence: offer.Found, Status: offer.Failed, Attempt: 1})
	set.observe(f.B.Contact, &offer.Observation{Token: "t/3", Presence: offer.Found, Status: offer.Running, Attempt: 3})
	if got := fmt.Sprint(*heard); got != "[backends.Late backends.Seen]" || f.N != 3 {
		t.Errorf("heard %s, launch %d", got, f.N)
	}
}

// TestLostSaysWhereItWasLookedFor: the second reading ends it, for the reason
// that its backend gives.
func TestLostSaysWhereItWasLookedFor(t *testing.T) {
	t.Parallel()
	const why = "the queue of spool /s does not know it"
	for said, want := range map[string]string{"": observed.Unlisted, why: why} {
		looks := 0
		s := &script{find: func(string) (offer.Observation, error) {
			looks++
			return offer.Observation{Token: "t", Presence: offer.Absent, Reason: said}, nil
		}}
		set, l, f, _ := one(t, s)
		f.Status, f.Handle = cells.Running, "7"
		r := set.Engine.(*run)
		set.lookFor(f.B, []*Attempt{f})
		l.until(func() bool { return r.seen.Status != "" })
		got := r.seen
		if got.Status != offer.Lost || got.Reason != want || looks != 2 {
			t.Errorf("after %d looks %s: %q, want %q", looks, got.Status, got.Reason, want)
		}
	}
}

// TestAQueueThatSaysItIsMute: a backend that says that it cannot ask its queue
// does not answer again as it takes jobs or tells what they wrote down
// themselves, but when it says so, or what they do when it is asked.
func TestAQueueThatSaysItIsMute(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(set *Set, c *Contact, f *Attempt){
		"its own word": func(set *Set, c *Contact, _ *Attempt) {
			set.fold(c, providers.Batch{Notes: []providers.Note{{Kind: "reachable", Text: "Slurm answers again"}}})
		},
		"it was asked": func(set *Set, c *Contact, f *Attempt) {
			set.found(c.Lines[0], []*Attempt{f}, []offer.Observation{{Token: "t", Presence: offer.Found, Status: offer.Running, Attempt: 1}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _, f, _ := one(t, &script{})
			r, c := set.Engine.(*run), f.B.Contact
			set.fold(c, providers.Batch{Notes: []providers.Note{{Kind: "unreachable", Text: "squeue said 3 things that cannot be read"}}})
			set.fold(c, providers.Batch{Events: []offer.Observation{{Token: "t", Presence: offer.Found, Status: offer.Running, Attempt: 1}}})
			set.submitted(f.B, []*Attempt{f}, []providers.Submitted{{Token: "t", Handle: "7"}}, nil)
			if len(r.notes) != 1 || f.B.Down == "" {
				t.Errorf("while nothing has changed: %q", r.notes)
			}
			ends(set, c, f)
			if len(r.notes) != 2 || r.notes[1] != "backend.lab.x answers again" || f.B.Down != "" {
				t.Errorf("when it answers: %q", r.notes)
			}
		})
	}
}

// TestAQuestionThatIsAnsweredOtherwise: a backend that could not be asked after its
// jobs, and then told by itself how they ended, is one that may be asked again:
// nobody else would try whether it answers.
func TestAQuestionThatIsAnsweredOtherwise(t *testing.T) {
	t.Parallel()
	s := &script{find: func(string) (offer.Observation, error) {
		return offer.Observation{}, providers.Errorf(providers.Unreachable, "it is away")
	}}
	set, l, f, _ := one(t, s)
	set.lose(f.B.Contact)
	l.until(func() bool { return f.B.tries == 1 })
	set.Land(f)
	(<-l.in)() // it is to be asked again
	if !f.B.Answers() || f.B.looking {
		t.Errorf("%d tries, and nothing is left to ask", f.B.tries)
	}
}

// TestHostsSayAReasonOnce: a host of several says why it cannot be asked when the
// reason is another one, and again after it answered, however often it is tried.
func TestHostsSayAReasonOnce(t *testing.T) {
	t.Parallel()
	set, _, f, _ := one(t, &script{find: func(string) (offer.Observation, error) {
		return offer.Observation{}, providers.Errorf(providers.Unreachable, "it is away")
	}})
	c := f.B.Contact
	c.Can.HostQueue, c.Offers = true, []offer.Pool{{Name: "h1"}, {Name: "h2"}}
	for _, n := range []providers.Note{
		{Kind: "unreachable", Text: "h2 is lost"}, {Kind: "unreachable", Text: "h2 is lost"}, {Kind: "unreachable", Text: "h2 has another key"}, {Kind: "unreachable", Text: "h2 is lost"},
		{Kind: "reachable", Text: "h2 answers again"}, {Kind: "unreachable", Text: "h2 is lost"},
	} {
		set.fold(c, providers.Batch{Notes: []providers.Note{n}})
	}
	if got := strings.ReplaceAll(strings.Join(set.Engine.(*run).notes, ", "), "backend.lab.x: ", ""); got != "h2 is lost, h2 has another key, h2 answers again, h2 is lost" {
		t.Errorf("%s", got)
	}
}
