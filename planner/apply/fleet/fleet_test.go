package fleet

import (
	"context"
	"errors"
	"fmt"
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
func (l *loop) Spawn(f func())        { go f() }
func (l *loop) Park(func() bool)      {}
func (l *loop) Done() <-chan struct{} { return l.done.Done() }

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

// one is a fleet of one place, on which one job was minted, and what was heard.
func one(t *testing.T, s *script) (*Fleet, *loop, *Flight, *[]string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	l := &loop{t: t, in: make(chan func(), 64), done: ctx}
	heard := &[]string{}
	var fl *Fleet
	fl = New(Run{
		Loop: l, Ctx: ctx, Time: clock.Wall, Campaign: &lang.Campaign{}, State: &state.State{Backends: map[string]state.Backend{"lab.x": {Type: "lab", Config: []byte(`{}`)}}},
		Provider: func(string) (providers.Provider, error) { return s, nil },
		Hear: func(n News) {
			if _, ok := n.(Met); !ok {
				*heard = append(*heard, fmt.Sprintf("%T", n))
			}
			if u, ok := n.(Unsent); ok {
				fl.Land(u.Flight)
			}
		},
		Note:  func(string, string, bool) {},
		Later: func(_ time.Duration, f func()) { l.Spawn(func() { l.Post(f) }) },
	})
	if err := fl.Open("lab.x"); err != nil {
		t.Fatal(err)
	}
	f := &Flight{Key: "phase.a", Addr: "phase.a", Token: "t", B: fl.At("lab.x", ""), N: 1, First: 1, Job: &providers.Job{Token: "t"}}
	fl.Adopt(f)
	fl.Mint(f)
	*heard = nil
	return fl, l, f, heard
}

func said(heard *[]string, what string) func() bool {
	return func() bool {
		for _, h := range *heard {
			if h == "fleet."+what {
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
			fl, l, _, heard := one(t, s)
			fl.Send(false)
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
	fl, l, f, heard := one(t, s)
	fl.Send(false)
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
	fl, l, sent, heard := one(t, s)
	fl.Send(false)
	unsent := &Flight{Key: "phase.b", Addr: "phase.b", Token: "u", B: sent.B, N: 1, First: 1, Job: &providers.Job{Token: "u"}}
	fl.Adopt(unsent)
	fl.Mint(unsent)
	l.until(func() bool { return said(heard, "Unsent")() && sent.Status == cells.Unknown })
	if !sent.B.Away() || unsent.Status == cells.Unknown {
		t.Errorf("away %v; what never left is %v", sent.B.Away(), unsent.Status)
	}
}

func TestAnEarlierLaunchIsLateNews(t *testing.T) {
	t.Parallel()
	fl, _, f, heard := one(t, &script{})
	f.Status, f.N = cells.Running, 2
	fl.observe(f.B.Contact, &offer.Observation{Token: "t", Presence: offer.Found, Status: offer.Failed, Attempt: 1})
	fl.observe(f.B.Contact, &offer.Observation{Token: "t/3", Presence: offer.Found, Status: offer.Running, Attempt: 3})
	if got := fmt.Sprint(*heard); got != "[fleet.Late fleet.Seen]" || f.N != 3 {
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
		fl, l, f, _ := one(t, s)
		f.Status, f.Handle = cells.Running, "7"
		hear, got := fl.Hear, offer.Observation{}
		fl.Hear = func(n News) {
			if s, ok := n.(Seen); ok {
				got = *s.O
			}
			hear(n)
		}
		fl.lookFor(f.B, []*Flight{f})
		l.until(func() bool { return got.Status != "" })
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
	for name, ends := range map[string]func(fl *Fleet, c *Contact, f *Flight){
		"its own word": func(fl *Fleet, c *Contact, _ *Flight) {
			fl.fold(c, providers.Batch{Notes: []providers.Note{{Kind: "reachable", Text: "Slurm answers again"}}})
		},
		"it was asked": func(fl *Fleet, c *Contact, f *Flight) {
			fl.found(c.Lines[0], []*Flight{f}, []offer.Observation{{Token: "t", Presence: offer.Found, Status: offer.Running, Attempt: 1}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fl, _, f, _ := one(t, &script{})
			var notes []string
			fl.Note = func(_, text string, _ bool) { notes = append(notes, text) }
			c := f.B.Contact
			fl.fold(c, providers.Batch{Notes: []providers.Note{{Kind: "unreachable", Text: "squeue said 3 things that cannot be read"}}})
			fl.fold(c, providers.Batch{Events: []offer.Observation{{Token: "t", Presence: offer.Found, Status: offer.Running, Attempt: 1}}})
			fl.submitted(f.B, []*Flight{f}, []providers.Submitted{{Token: "t", Handle: "7"}}, nil)
			if len(notes) != 1 || f.B.Down == "" {
				t.Errorf("while nothing has changed: %q", notes)
			}
			ends(fl, c, f)
			if len(notes) != 2 || notes[1] != "backend.lab.x answers again" || f.B.Down != "" {
				t.Errorf("when it answers: %q", notes)
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
	fl, l, f, _ := one(t, s)
	fl.lose(f.B.Contact)
	l.until(func() bool { return f.B.tries == 1 })
	fl.Land(f)
	(<-l.in)() // it is to be asked again
	if !f.B.Answers() || f.B.looking {
		t.Errorf("%d tries, and nothing is left to ask", f.B.tries)
	}
}
