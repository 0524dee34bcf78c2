package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// limits hold queued jobs in their queues while these do not fit the budgets.
type limits struct {
	*jobs
	accounts *accounts
	holds    *holds
	repriced bool      // queued jobs cost the current price of their places
	deadline time.Time // of a budget, when queued jobs are held; zero = none ahead
}

// keepWithin holds queued jobs in their queues while ledger plus ceilings pass a
// limit, the last of the campaign first, and lets them go when they fit again.
// A limit that was lowered, a price that rose and a bill above its quote all
// come to this. Running jobs go on.
func (l *limits) keepWithin() {
	if l.mute() || l.backends.Unanswered > 0 || l.Plan.Destroy {
		return
	}
	first := !l.repriced
	l.repriceQueued()
	now := l.Clock()
	if next := l.accounts.budgets.Deadline(now); !next.IsZero() && len(l.attempts) > 0 && l.Mode == Drive {
		l.deadline = next
	}
	if l.accounts.budgets.Passed(now) {
		l.holdQueued()
	}
	if l.accounts.shorted > 0 && !l.Stopped() && !l.holds.All {
		l.releaseQueued()
	}
	if first && l.accounts.shorted > 0 {
		l.holdAgain()
	}
}

// holdQueued holds as many queued jobs as needed, the last first.
func (l *limits) holdQueued() {
	now := l.Clock()
	var back []*attempt
	for _, f := range l.inOrder(func(f *attempt) bool { return f.waits() && f.short == "" && !f.unholdable }) {
		if !l.accounts.budgets.Passed(now) {
			break
		}
		if why := l.accounts.budgets.Relieves(&f.tab, now); why != "" {
			l.accounts.park(f, why)
			back = append(back, f)
		}
	}
	slices.Reverse(back)
	back = slices.DeleteFunc(back, func(f *attempt) bool { // held for one limit, and then more were for another
		if !l.accounts.budgets.Fits(&f.tab, nil, now) {
			return false
		}
		l.accounts.unpark(f)
		return true
	})
	l.holdBack(back)
}

// holdBack records that limits hold jobs, and tells their queues.
func (l *limits) holdBack(back []*attempt) {
	if len(back) == 0 {
		return
	}
	by := map[*backends.Backend][]*backends.Attempt{}
	for _, f := range back {
		l.recordShort(f)
		by[f.B] = append(by[f.B], &f.Attempt)
	}
	l.Note("", fmt.Sprintf("%s held in the queue: %s", request.Jobs(len(back), "is", "are"), l.whyShort(back[0])), true)
	if l.Sync() {
		for b, fs := range by {
			l.backends.Keep(b, fs, true)
		}
	}
}

// recordShort notes in the state that a limit holds a job, or no more.
func (l *limits) recordShort(f *attempt) {
	rec := l.st.Jobs[f.Key]
	if rec == nil {
		return
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Attempt: state.Attempt{N: f.N, Token: f.LaunchToken(f.N)}, Short: f.short, Reason: rec.Reason, Cause: rec.Cause, At: l.Clock()}
	if f.Status == cells.Waiting {
		ev.Status, ev.Retry = state.Waiting, rec.Retry
	} else if f.short == "" && rec.Cause == string(offer.JobHeld) {
		ev.Reason, ev.Cause = "", ""
	}
	l.Emit(ev)
}

// releaseQueued releases held jobs that fit again, the first of the campaign first.
func (l *limits) releaseQueued() {
	now := l.Clock()
	by := map[*backends.Backend][]*backends.Attempt{}
	held := l.inOrder(func(f *attempt) bool { return f.short != "" && f.End == backends.Stays })
	slices.Reverse(held)
	for _, f := range held {
		if !f.waits() || !f.B.Answers() || !l.holds.allow(f) {
			continue
		}
		if !l.accounts.budgets.Fits(&f.tab, nil, now) {
			break
		}
		l.accounts.unpark(f)
		by[f.B] = append(by[f.B], &f.Attempt)
	}
	if len(by) == 0 {
		return
	}
	if n := len(held); l.accounts.shorted < n {
		l.Note("", request.Jobs(n-l.accounts.shorted, "fits the budgets again and may start", "fit the budgets again and may start"), false)
	}
	for b, fs := range by { // their records say so once their queues do
		l.backends.Keep(b, fs, false)
	}
}

// holdAgain repeats the holds of earlier runs, which may have died before their
// queues were told.
func (l *limits) holdAgain() {
	by := map[*backends.Backend][]*backends.Attempt{}
	for _, f := range l.attempts {
		if f.short != "" && f.waits() {
			by[f.B] = append(by[f.B], &f.Attempt)
		}
	}
	for b, fs := range by {
		l.backends.Keep(b, fs, true)
	}
}

// waits reports whether an attempt is in a queue that can hold it there.
func (f *attempt) waits() bool {
	return f.End == backends.Stays && f.B.Can.Holds && (f.Status == cells.Queued || f.Status == cells.Waiting)
}

// stopShort ends a run that leaves jobs held by a limit.
func (l *limits) stopShort() {
	why := ""
	for _, f := range l.inOrder(func(f *attempt) bool { return f.short != "" }) {
		if why = l.whyShort(f); why == f.short {
			why = f.Addr + " is held: " + why
		}
	}
	if l.halted == progress.Beyond {
		l.halted = progress.None
	}
	l.halt(progress.Budget, why)
}

// whyShort says which limit a held job would pass, with its figures.
func (l *limits) whyShort(f *attempt) string {
	if !l.accounts.budgets.Afford(f.tab.Item, f.Addr, f.tab.Dues, l.Clock()) {
		return l.accounts.budgets.Why
	}
	return f.short
}

// begun takes in that a job runs which a limit was to hold: it started before the
// hold arrived. It counts at its ceiling again, and keeps its retries.
func (l *limits) begun(f *attempt) {
	if f.short == "" {
		return
	}
	l.accounts.unpark(f)
	l.backends.HoldJobs(f.B, []string{f.Token}, false)
}

// unheld notes that a backend does not hold jobs: they count as jobs that
// start.
func (l *limits) unheld(fs []*backends.Attempt, b *backends.Backend, why string) {
	n := 0
	for _, o := range fs {
		f := l.attempts[o.Token]
		if f == nil || f.short == "" {
			continue
		}
		n++
		f.unholdable = true
		l.accounts.unpark(f)
		l.recordShort(f)
	}
	if n > 0 {
		l.Note(b.Title(), fmt.Sprintf("%s does not hold %s in its queue, which may pass a limit: %s", b.Title(), request.Jobs(n, "", ""), why), true)
	}
}

// title is how the place of an attempt is spoken of.
func (f *attempt) title() string {
	if f.Pool == "" {
		return "backend." + f.B.Name
	}
	return f.Pool + " of backend." + f.B.Name
}

// bills are the bills of a pool.
type bills struct {
	last    decimal.Decimal // factor above the quote of the last launch
	since   time.Time       // its start
	before  decimal.Decimal // factor of the launch that started before it; 0 = none is known
	until   time.Time       // its start
	factor  decimal.Decimal // by which others count, by this run's bills; 0 = as earlier says
	earlier place.Rise      // by those of earlier runs
}

// repriceQueued counts jobs that have not started at the current price of
// their places, once muster knows which they are.
func (l *limits) repriceQueued() {
	if l.repriced {
		return
	}
	l.repriced = true
	for _, f := range l.attempts {
		if rec := l.st.Jobs[f.Key]; rec != nil && f.Status == cells.Queued && f.asked != nil && !f.smoke && f.p != nil {
			l.reprice(f, rec)
		}
	}
}

// reprice counts a queued job at the current price of its place, where that is
// dearer or a limit holds the job, and notes that with its attempt.
func (l *limits) reprice(f *attempt, rec *state.Job) {
	a := rec.Last()
	if a == nil || a.Rates == nil || !a.Started.IsZero() || f.N != f.First {
		return
	}
	now, ok := l.Plan.Today(f.p.Name, int(f.cell), f.B.Name, f.Pool)
	was, recorded := now.Charged(a)
	if !ok || !recorded || !was.Yields(now, *f.asked, f.short != "") {
		return
	}
	t := ledger.TariffOf(&now)
	f.charged = &t
	ceiling := t.Ceiling(*f.asked)
	l.accounts.budgets.Park(&f.tab)
	l.accounts.setAside(f, ceiling)
	l.accounts.budgets.Open(&f.tab)
	if f.short != "" {
		l.accounts.budgets.Park(&f.tab)
	}
	l.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Short: f.short, Reason: rec.Reason,
		Attempt: state.Attempt{N: f.N, Token: f.LaunchToken(f.N), Ceiling: ceiling, Rates: now.Rates(*f.asked)}, At: l.Clock()})
}

// Restrain holds, in the queues, the jobs that the current budgets do not cover.
// It starts nothing. The outcome is Stopped with Budget where jobs are held.
func Restrain(ctx context.Context, c Config) (progress.Outcome, error) {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return progress.Outcome{}, err
	}
	if err := e.until(ctx, doEnds, func() bool { return e.backends.Unanswered == 0 && !e.sending() }); err != nil {
		return e.summary.outcome(), err
	}
	e.limits.keepWithin()
	if err := e.until(ctx, doEnds, func() bool { return !e.sending() && e.backends.Keeping == 0 }); err != nil {
		return e.summary.outcome(), err
	}
	if e.halted = progress.None; e.accounts.shorted > 0 {
		e.limits.stopShort()
	}
	e.Sync()
	return e.summary.outcome(), e.err
}

// watchWaits sets aside billed waits beyond their quotes, and takes jobs that no account
// covers any more back from their queue.
func (l *limits) watchWaits() {
	now := l.Clock()
	if l.accounts.waits.IsZero() || l.accounts.waits.After(now) || l.backends.Unanswered > 0 {
		return
	}
	l.accounts.waits = time.Time{}
	back := false
	for _, f := range l.attempts {
		if !f.tab.Queued() || f.End != backends.Stays || f.Status != cells.Queued && f.Status != cells.Submitting {
			continue
		}
		waited := jobspec.Waited(l.st.Jobs[f.Key], f.Token, now, f.N)
		l.accounts.waits = clock.Earliest(l.accounts.waits, now.Add(l.accounts.budgets.Await(&f.tab, f.size(), max(waited, 0))))
		if waited > 0 && !l.accounts.budgets.Covers(&f.tab, now) {
			f.by = "muster: its wait is billed, and " + l.accounts.budgets.Why
			f.EndAs(backends.Hold)
			back = true
			l.accounts.budgets.TakeBack(&f.tab, f.size())
			l.Note(f.Addr, f.Addr+" is taken back from its queue: its wait is billed, and "+l.accounts.budgets.Why, true)
		}
	}
	if back {
		l.backends.Cancel()
	}
}
