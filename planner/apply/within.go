package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// keepWithin holds queued jobs in their queues while ledger plus ceilings pass a
// limit, the last of the campaign first, and lets them go when they fit again.
// A limit that was lowered, a price that rose and a bill above its quote all
// come to this. Running jobs go on.
func (e *engine) keepWithin() {
	if e.mute() || e.fleet.Unanswered > 0 || e.Plan.Destroy {
		return
	}
	first := !e.repriced
	e.repriceQueued()
	now := e.Clock()
	if next := e.budgets.Deadline(now); !next.IsZero() && len(e.flights) > 0 && e.Mode == Drive {
		e.deadline = next
	}
	if e.budgets.Passed(now) {
		e.holdQueued()
	}
	if e.shorted > 0 && e.halted == standing.None && !e.holds.All {
		e.releaseQueued()
	}
	if first && e.shorted > 0 {
		e.holdAgain()
	}
}

// holdQueued holds as many queued jobs as needed, the last first.
func (e *engine) holdQueued() {
	now := e.Clock()
	var back []*flight
	for _, f := range e.inOrder(func(f *flight) bool { return f.waits() && f.short == "" && !f.unholdable }) {
		if !e.budgets.Passed(now) {
			break
		}
		if why := e.budgets.Relieves(&f.tab, now); why != "" {
			e.budgets.Park(&f.tab)
			f.short = why
			back = append(back, f)
		}
	}
	slices.Reverse(back)
	back = slices.DeleteFunc(back, func(f *flight) bool { // held for one limit, and then more were for another
		if !e.budgets.Fits(&f.tab, nil, now) {
			return false
		}
		e.budgets.Unpark(&f.tab)
		f.short = ""
		return true
	})
	e.holdBack(back)
}

// holdBack records that limits hold jobs, and tells their queues.
func (e *engine) holdBack(back []*flight) {
	if len(back) == 0 {
		return
	}
	e.shorted += len(back)
	by := map[*fleet.Backend][]*fleet.Flight{}
	for _, f := range back {
		e.recordShort(f)
		by[f.B] = append(by[f.B], &f.Flight)
	}
	e.report.Note("", fmt.Sprintf("%s held in the queue: %s", request.Jobs(len(back), "is", "are"), e.whyShort(back[0])), true)
	if e.sync() {
		for b, fs := range by {
			e.fleet.Keep(b, fs, true)
		}
	}
}

// recordShort notes in the state that a limit holds a job, or no more.
func (e *engine) recordShort(f *flight) {
	rec := e.st.Jobs[f.Key]
	if rec == nil {
		return
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Attempt: state.Attempt{N: f.N, Token: f.LaunchToken(f.N)}, Short: f.short, Reason: rec.Reason, At: e.Clock()}
	if f.Status == cells.Waiting {
		ev.Status, ev.Retry = state.Waiting, rec.Retry
	} else if f.short == "" && offer.IsHeld(rec.Reason) {
		ev.Reason = ""
	}
	e.emit(ev)
}

// releaseQueued releases held jobs that fit again, the first of the campaign first.
func (e *engine) releaseQueued() {
	now := e.Clock()
	by := map[*fleet.Backend][]*fleet.Flight{}
	held := e.inOrder(func(f *flight) bool { return f.short != "" && f.End == fleet.Stays })
	slices.Reverse(held)
	for _, f := range held {
		why := f.short
		if f.short = ""; !f.waits() || !f.B.Answers() || !e.mayStart(f) {
			f.short = why
			continue
		}
		if !e.budgets.Fits(&f.tab, nil, now) {
			f.short = why
			break
		}
		e.budgets.Unpark(&f.tab)
		e.shorted--
		by[f.B] = append(by[f.B], &f.Flight)
	}
	if len(by) == 0 {
		return
	}
	if n := len(held); e.shorted < n {
		e.report.Note("", request.Jobs(n-e.shorted, "fits the budgets again and may start", "fit the budgets again and may start"), false)
	}
	for b, fs := range by { // their records say so once their queues do
		e.fleet.Keep(b, fs, false)
	}
}

// holdAgain repeats the holds of earlier runs, which may have died before their
// queues were told.
func (e *engine) holdAgain() {
	by := map[*fleet.Backend][]*fleet.Flight{}
	for _, f := range e.flights {
		if f.short != "" && f.waits() {
			by[f.B] = append(by[f.B], &f.Flight)
		}
	}
	for b, fs := range by {
		e.fleet.Keep(b, fs, true)
	}
}

// inOrder are the flights that match, the last of the campaign first.
func (e *engine) inOrder(match func(*flight) bool) (out []*flight) {
	for _, f := range e.flights {
		if match(f) {
			out = append(out, f)
		}
	}
	ord := func(f *flight) int {
		if f.p == nil {
			return -1
		}
		return f.p.Ord
	}
	slices.SortFunc(out, func(a, b *flight) int {
		smoke := 0
		if a.smoke != b.smoke {
			if smoke = -1; a.smoke {
				smoke = 1
			}
		}
		return cmp.Or(cmp.Compare(ord(b), ord(a)), smoke, cmp.Compare(b.cell, a.cell), cmp.Compare(b.Key, a.Key))
	})
	return out
}

// waits reports whether a flight is in a queue that can hold it there.
func (f *flight) waits() bool {
	return f.End == fleet.Stays && f.B.Can.Holds && (f.Status == cells.Queued || f.Status == cells.Waiting)
}

// stopShort ends a run that leaves jobs held by a limit.
func (e *engine) stopShort() {
	why := ""
	for _, f := range e.inOrder(func(f *flight) bool { return f.short != "" }) {
		why = e.whyShort(f)
	}
	if e.halted == standing.Beyond {
		e.halted = standing.None
	}
	e.halt(standing.Budget, why)
}

// whyShort says which limit a held job would pass, with its figures.
func (e *engine) whyShort(f *flight) string {
	if !e.budgets.Afford(f.tab.Item, f.Addr, f.tab.Dues, e.Clock()) {
		return e.budgets.Why
	}
	return f.short
}

// begun takes in that a job runs which a limit was to hold: it started before the
// hold arrived. It counts at its ceiling again, and keeps its retries.
func (e *engine) begun(f *flight) {
	if f.short == "" {
		return
	}
	f.short = ""
	e.shorted--
	e.budgets.Unpark(&f.tab)
	e.fleet.HoldJobs(f.B, []string{f.Token}, false)
}

// unheld takes in that a backend does not hold jobs: they count as what starts.
func (e *engine) unheld(fs []*fleet.Flight, b *fleet.Backend, why string) {
	n := 0
	for _, o := range fs {
		f := e.flights[o.Token]
		if f == nil || f.short == "" {
			continue
		}
		n++
		f.short, f.unholdable = "", true
		e.shorted--
		e.budgets.Unpark(&f.tab)
		e.recordShort(f)
	}
	if n > 0 {
		e.report.Note(b.Title(), fmt.Sprintf("%s does not hold %s in its queue, which may pass a limit: %s", b.Title(), request.Jobs(n, "", ""), why), true)
	}
}

// learnPrice takes in what a launch was billed. When two in a row, as they
// started, were billed above their rates, like launches that are not over count
// at as much more.
func (e *engine) learnPrice(f *flight, l ledger.Launch) {
	rise, told := f.tab.RiseOf(l)
	if !told {
		return
	}
	at := place.PoolAt{Backend: f.B.Name, Pool: f.Pool}
	was := e.rises[at]
	if l.Seen.Started.Before(was.since) || was.since.IsZero() && !rise.Rises() {
		return
	}
	now := bills{last: rise, since: l.Seen.Started}
	if was.last.Rises() && rise.Rises() {
		now.rise = rise
	}
	if e.rises == nil {
		e.rises = map[place.PoolAt]bills{}
	}
	if e.rises[at] = now; now.rise == was.rise {
		return
	}
	for _, o := range e.flights {
		if o.B.Name == f.B.Name && o.Pool == f.Pool && o != f {
			e.budgets.Raise(&o.tab, now.rise)
		}
	}
	if !was.rise.Rises() {
		e.report.Note(f.B.Title(), fmt.Sprintf("%s bills %s times what it quoted; what is left counts at that", f.title(), rise.Factor()), true)
	}
}

// title is how the place of a flight is spoken of.
func (f *flight) title() string {
	if f.Pool == "" {
		return "backend." + f.B.Name
	}
	return f.Pool + " of backend." + f.B.Name
}

// bills are what a pool billed in this run.
type bills struct {
	last, rise ledger.Rise // of the last launch; by which others count
	since      time.Time   // start of the last launch
}

// repriceQueued has jobs that have not started cost what their places ask now,
// once it is known which have not.
func (e *engine) repriceQueued() {
	if e.repriced {
		return
	}
	e.repriced = true
	for _, f := range e.flights {
		if rec := e.st.Jobs[f.Key]; rec != nil && f.Status == cells.Queued && f.asked != nil && !f.smoke && f.p != nil {
			e.reprice(f, rec)
		}
	}
}

// reprice has a queued job cost what its place asks now, where that is dearer or a
// limit holds the job, and notes that with its attempt.
func (e *engine) reprice(f *flight, rec *state.Job) {
	a := rec.Last()
	if a == nil || a.Rates == nil || !a.Started.IsZero() || f.N != f.First {
		return
	}
	now, ok := e.Plan.Today(f.p.Name, int(f.cell), f.B.Name, f.Pool)
	was, recorded := now.Charged(a)
	if !ok || !recorded || !was.Yields(now, *f.asked, f.short != "") {
		return
	}
	t := ledger.TariffOf(&now)
	f.charged = &t
	ceiling := t.Ceiling(*f.asked)
	e.budgets.Park(&f.tab)
	e.setAside(f, ceiling)
	e.budgets.Open(&f.tab)
	if f.short != "" {
		e.budgets.Park(&f.tab)
	}
	e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Short: f.short, Reason: rec.Reason,
		Attempt: state.Attempt{N: f.N, Token: f.LaunchToken(f.N), Ceiling: ceiling, Rates: now.Rates(*f.asked)}, At: e.Clock()})
}

// Restrain holds, in the queues, what the budgets of now do not cover. Nothing is
// started. The outcome is Stopped with Budget where jobs are held.
func Restrain(ctx context.Context, c Config) (standing.Outcome, error) {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return standing.Outcome{}, err
	}
	if err := e.until(ctx, doEnds, func() bool { return e.fleet.Unanswered == 0 && !e.sending() }); err != nil {
		return e.outcome(), err
	}
	e.keepWithin()
	if err := e.until(ctx, doEnds, func() bool { return !e.sending() && e.fleet.Keeping == 0 }); err != nil {
		return e.outcome(), err
	}
	if e.halted = standing.None; e.shorted > 0 {
		e.stopShort()
	}
	e.sync()
	return e.outcome(), e.err
}
