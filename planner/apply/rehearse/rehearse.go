// Package rehearse simulates a plan many times before it is paid for. It runs
// the real engine on simulated backends and a virtual clock. Decisions are
// those of an apply; runtimes and failures are drawn from the plan's
// assumptions and from history. A campaign with only simulated backends is
// applied here as well.
package rehearse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/snapshot"
)

// longest is the virtual time after which a rehearsal is given up: something
// is waited for that never comes.
const longest = 10 * 365 * 24 * time.Hour

// Input is the campaign and the assumptions of a rehearsal.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Plan     *planner.Plan // as made, not as read from a file
	Pools    []offer.Pool
	Can      map[string]offer.Capabilities // by backend type
	Seed     uint64
	// Fails are shares of launches that fail, by class, instead of those in the
	// history; nil uses the history.
	Fails map[string]float64
	// Unexpected is the share of smokes that do not meet their phase's
	// expectations; nil uses the history.
	Unexpected *float64
	// Bandwidth of links to other machines, bytes a second, instead of the measured one; 0
	// takes the measured one.
	Bandwidth int64
	// ResumeAfter is how long after the end of the last job a person resumes held jobs; 0 is
	// never. Again plans from then on.
	ResumeAfter time.Duration
	Again       planner.Input
}

// A Result is how one rehearsal ended.
type Result struct {
	Spent   state.Amounts // by unit, decimal
	Took    time.Duration // until the last job ended
	Done    int
	Failed  int
	Held    int
	Blocked int // wait for one that failed or is held
	Left    int // were never started, blocked ones apart
	Retries int // launches beyond the first of a job
	Stopped progress.Stop
	Why     string   // of Stopped, in words
	Open    []string // phases whose breaker opened
	Smoked  []string // phases held for a smoke that failed
	Kept    []string // phases with failed, held or blocked jobs, and why
	Visits  int      // number of times that a person resumed held jobs
	Endless bool     // something was waited for that never came
}

// A Stage is a plan ready to be rehearsed.
type Stage struct {
	in       Input
	campaign *lang.Campaign
	plan     *planner.Plan
	state    []byte // a snapshot, nil when nothing happened yet
	book     map[string]*assumed
	places   map[string]*described // those that are simulated anyway
	links    map[string]link
	sizes    map[string]map[string]int64 // of outputs, by phase and name
	existing map[string][]sim.ExistingOutput
	known    map[string]string
	present  map[string][]sim.Present
}

// New readies a plan. The state may be used by others afterwards.
func New(in Input) (*Stage, error) {
	places, err := describedIn(in.Campaign, in.State)
	if err != nil {
		return nil, err
	}
	whole := in
	if whole.Plan, err = in.resumed(); err != nil {
		return nil, err
	}
	s := &Stage{in: in, places: places, book: assumptions(whole, places), known: map[string]string{}, links: links(in), sizes: sizes(in.State), existing: Existing(in.State)}
	s.campaign, s.plan = unexpected(in.Campaign, in.Plan, s.book)
	if len(in.State.Jobs) > 0 || len(in.State.Approvals) > 0 || len(in.State.Holds) > 0 {
		if s.state, err = snapshot.Bytes(in.State); err != nil {
			return nil, fmt.Errorf("copy the state: %w", err)
		}
	}
	for _, j := range in.State.Jobs {
		for _, o := range j.Outputs {
			s.known[o.Path] = o.Digest
		}
	}
	s.present = InFlight(in.Campaign, in.State)
	Launches(in.State, s.present)
	return s, nil
}

// Assumed says what runtimes and failures are drawn from, phases of which the
// same holds together: "train, score: no history yet: …".
func (s *Stage) Assumed() []string {
	var texts []string
	phases := map[string][]string{}
	for _, pp := range s.plan.Phases {
		a := s.book[pp.Phase.Name]
		if a == nil {
			continue
		}
		for _, text := range a.texts {
			if phases[text] == nil {
				texts = append(texts, text)
			}
			phases[text] = append(phases[text], pp.Phase.Name)
		}
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.Join(phases[text], ", ") + ": " + text
	}
	return append(out, s.moves()...)
}

// Play rehearses the plan the n-th time. The same seed and n play the same,
// whatever is played beside it.
func (s *Stage) Play(ctx context.Context, n int) (Result, error) {
	st := state.New(s.campaign.Name)
	if s.state != nil {
		var err error
		if st, err = snapshot.Decode("the state", s.state); err != nil {
			return Result{}, fmt.Errorf("copy the state: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := Result{}
	v := clock.NewVirtual(s.plan.Now)
	giveUp := func() { r.Endless = true; cancel() }
	v.Stuck = giveUp
	last := v.Now()
	tokens := uint64(0)
	breakers := map[string]bool{}
	conf := apply.Config{
		Plan: s.plan, Campaign: s.campaign, Session: &memory{st: st}, Provider: s.providers(v, n, &r.Visits), Time: v,
		Play: true, Who: "rehearsal", Host: "rehearsal", Environ: []string{}, AllowRerun: true, AllowCancel: true,
		Secrets: func(lang.Secret) (string, error) { return "", nil },
		Mint:    func() string { tokens++; return fmt.Sprintf("%032x", tokens) },
		Event: func(ev state.Event) {
			switch ev := ev.(type) {
			case state.Observed:
				last = ev.At
				if ev.Attempt.N > 1 && ev.Status == state.Running {
					r.Retries++
				}
			case state.BreakerOpened:
				breakers[ev.Phase] = true
			}
		},
	}
	var o progress.Outcome
	var err error
	v.Run(func() {
		end, stop := v.Timer(longest)
		over := false
		v.Go(func() {
			v.Park(func() bool { return len(end) > 0 || over })
			if !over {
				giveUp()
			}
		})
		o, err = s.applied(ctx, v, st, conf, &r.Visits)
		over = true
		stop()
	})
	if err != nil {
		return r, err
	}
	r.ended(o, last.Sub(s.plan.Now))
	r.Open = slices.Sorted(maps.Keys(breakers))
	r.Kept = waiting(s.plan, st)
	if o.Smoke != "" {
		r.Smoked = heldBySmoke(st)
	}
	return r, nil
}

// ended takes over how an apply ended, and how long it took.
func (r *Result) ended(o progress.Outcome, took time.Duration) {
	r.Spent, r.Took = o.Spent, took
	r.Done, r.Failed, r.Held, r.Blocked, r.Left = o.Done, o.Failed, o.Held, o.Blocked, o.Waiting()+o.Unknown+o.Cancelled
	r.Stopped, r.Why = o.Stopped, o.Why
}

// seedOf is the seed of the n-th rehearsal.
func seedOf(seed uint64, n int) uint64 { return seed*1_000_003 + uint64(n) }

// A standIn answers for one type of backend.
type standIn struct {
	*sim.Sim
	typ string
	can offer.Capabilities
}

func (p standIn) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: p.typ, Can: p.can}, nil
}

// providers stand in for the backends: all types on one site, so that files move
// between them.
func (s *Stage) providers(v *clock.Virtual, nth int, visits *int) func(string) (providers.Provider, error) {
	p := sim.NewOf(v, offer.Schema{}, func(b providers.Backend) (sim.Site, error) {
		return s.site(b, s.can(b.Type), nth, visits), nil
	})
	return func(typ string) (providers.Provider, error) { return standIn{p, typ, s.can(typ)}, nil }
}

// can is the capabilities of a type of backend, but copies nothing to this
// machine.
func (s *Stage) can(typ string) offer.Capabilities {
	can := s.in.Can[typ]
	can.Remote = true
	return can
}
