package rehearse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/snapshot"
)

// mostInVain is how often somebody comes, one time after the other, though no job
// more was done since.
const mostInVain = 3

// person is who resumes, in the state.
const person = "rehearsal"

// waitsForSomebody reports whether a run ended where a person has to act.
func waitsForSomebody(o progress.Outcome, st *state.State) bool {
	return o.Stopped == progress.Hold || o.Stopped == progress.None && (o.Held+o.Failed+o.Blocked > 0 || o.Smoke != "" || len(st.Breakers) > 0 || slices.ContainsFunc(st.Holds, func(h state.Hold) bool { return !h.Cancel }))
}

// letGo acts as a person who runs `muster resume`.
func letGo(st *state.State, now time.Time) {
	st.Apply(state.HoldClear{By: person, At: now})
	for _, of := range slices.Sorted(maps.Keys(st.Breakers)) {
		b := st.Breakers[of]
		st.Apply(state.BreakerClosed{Phase: b.Phase, Of: b.Of, By: person, At: now})
	}
	for _, address := range slices.Sorted(maps.Keys(st.Jobs)) {
		if j := st.Jobs[address]; j.Status == state.Failed || j.Status == state.Held || j.Smoke && j.Status == state.Completed {
			st.Apply(state.Freed{Address: address, By: person, At: now})
		}
	}
}

// wait lets the time pass until somebody comes.
func (s *Stage) wait(ctx context.Context, v *clock.Virtual) {
	came, stop := v.Timer(s.in.ResumeAfter)
	defer stop()
	v.Park(func() bool { return len(came) > 0 || ctx.Err() != nil })
}

// again plans the remaining jobs, as the next `muster apply` would.
func (s *Stage) again(st *state.State, now time.Time) (*planner.Plan, error) {
	p, err := s.in.plannedAgain(st, now)
	if err != nil {
		return nil, err
	}
	_, p = unexpected(s.in.Campaign, p, s.book)
	return p, nil
}

// resumed is the plan of an input as if somebody had resumed all held jobs. The
// rehearsal draws the jobs to run from it.
func (from Input) resumed() (*planner.Plan, error) {
	if c := from.Plan.Counts; from.ResumeAfter <= 0 || c.Held+c.Blocked == 0 {
		return from.Plan, nil
	}
	b, err := snapshot.Bytes(from.State)
	if err != nil {
		return nil, fmt.Errorf("copy the state: %w", err)
	}
	st, err := snapshot.Decode("the state", b)
	if err != nil {
		return nil, fmt.Errorf("copy the state: %w", err)
	}
	letGo(st, from.Plan.Now)
	return from.plannedAgain(st, from.Plan.Now)
}

func (from Input) plannedAgain(st *state.State, now time.Time) (*planner.Plan, error) {
	in := from.Again
	in.State, in.Now = st, now
	in.Observed.Refreshed, in.Observed.Jobs, in.Observed.Gone, in.Observed.Outputs = false, nil, nil, nil
	p, ds := planner.Make(in)
	if ds.HasErrors() {
		return nil, fmt.Errorf("plan again after a hold: %w", ds.Err())
	}
	return p, nil
}

// attended names the assumption about the people who are needed; "" without one.
func (s *Stage) attended(needed bool) string {
	var gates []string
	for _, h := range s.in.State.Holds {
		gates = append(gates, strings.TrimSpace("the hold of "+h.Who+" "+h.Address))
	}
	var open []string
	for _, of := range slices.Sorted(maps.Keys(s.in.State.Breakers)) {
		open = append(open, s.in.State.Breakers[of].Address())
	}
	if len(open) > 0 {
		gates = append(gates, "the breaker of "+strings.Join(open, ", "))
	}
	from := ""
	if len(gates) > 0 {
		from = " (from before: " + strings.Join(gates, "; ") + ")"
	}
	switch {
	case s.in.ResumeAfter > 0:
		return fmt.Sprintf("somebody resumes all held jobs %s after everything has stopped%s", units.FormatDuration(s.in.ResumeAfter), from)
	case needed || from != "":
		return "nobody resumes held jobs: they stay held" + from + "; -resume-after=12h assumes that somebody does"
	}
	return ""
}

// Attended names the assumption about the person that a run waits for; "" without one.
func (s *Stage) Attended(runs []Result) string {
	return s.attended(slices.ContainsFunc(runs, func(r Result) bool {
		return r.Stopped == progress.Hold || r.Failed+r.Held+r.Blocked > 0 || len(r.Open) > 0
	}))
}

// applied is the result of the plan, and of the rest of it each time that
// somebody has looked at it, until nothing waits for that or it was in vain.
func (s *Stage) applied(ctx context.Context, v *clock.Virtual, st *state.State, conf apply.Config, visits *int) (o progress.Outcome, err error) {
	spent, done, vain := ledger.Amounts{}, 0, 0
	for {
		if o, err = apply.Run(ctx, conf); err != nil {
			return o, err
		}
		spent.Add(ledger.Parse(o.Spent), 1)
		if s.in.ResumeAfter <= 0 || !waitsForSomebody(o, st) || ctx.Err() != nil {
			break
		}
		if vain++; o.Done > done {
			vain = 0
		}
		if done = o.Done; vain > mostInVain {
			break
		}
		s.wait(ctx, v)
		*visits++
		letGo(st, v.Now())
		if conf.Plan, err = s.again(st, v.Now()); err != nil {
			return o, err
		}
	}
	if *visits > 0 {
		o.Spent = spent.Text()
	}
	return o, nil
}
