package apply

// The life of a job, as the engine drives it:
//
//	pending ─▶ ready ─▶ submitting ─▶ queued ─▶ running ─▶ verifying ─▶ done
//	  ▲  waits for its inputs, its    │           │           │
//	  │  gate, a slot, the budget     └───────────┴─▶ failed(class) ─▶ waiting ─▶ ready
//	  │                                                  └─▶ held (action = hold, a person, breaker)
//	  └── freed by resume                            cancelled: ended by us or from outside
//
// One turn of the loop:
//
//	inbox ─fold─▶ events ─append─▶ state ─decide─▶ intents ─append, sync─▶ outboxes ─▶ backends
//
// Only the loop touches the engine and the state. Other goroutines (a watch
// and a sender for each backend, one for requests, one for each transfer route)
// post closures into the inbox, and the loop runs them.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/loop"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state/store"
)

const (
	syncAtLeast = 200 * time.Millisecond // observations are durable after this; intents at once
	farewell    = 3 * time.Second        // for calls in flight when a run stops
)

// An engine is the loop: it hears backends, has its parts decide, makes that
// durable and sends it. Each part owns a piece of state and uses only the parts
// before it.
type engine struct {
	*jobs
	accounts  *accounts
	holds     *holds
	breakers  *breakers
	limits    *limits
	inputs    *inputs
	schedule  *schedule
	gates     *gates
	settler   *settler
	builder   *builder
	placement *placement
	starter   *starter
	outcomes  *outcomes
	requests  *requests
	rows      *rows
	summary   *summary

	glance time.Time // when volumes are looked at again; no run waits for it
}

// newEngine is an engine before its first turn. Its calls outlive ctx: those
// under way are given time to end when the caller leaves.
func newEngine(ctx context.Context, c Config) *engine {
	if c.Time == nil {
		c.Time = clock.Wall
	}
	if clock.IsVirtual(c.Time) {
		c.Requests = "" // nobody could ask in time
	}
	if c.Mint == nil {
		c.Mint = mint
	}
	if c.Secrets == nil {
		c.Secrets = func(s lang.Secret) (string, error) { return site.Secret(c.Campaign.Dir, s) }
	}
	r := &run{Config: c, Loop: loop.New(ctx, c.Time), st: c.Session.State()}
	js := &jobs{run: r, byName: map[string]*phase{}, attempts: map[string]*attempt{}, byJob: map[string]*attempt{}}
	e := &engine{jobs: js}
	e.accounts = &accounts{jobs: js, prices: ledger.Prices{}}
	e.holds = &holds{jobs: js, accounts: e.accounts, room: map[*backends.Backend]roomTold{}}
	e.breakers = &breakers{jobs: js, holds: e.holds}
	e.limits = &limits{jobs: js, accounts: e.accounts, holds: e.holds}
	e.inputs = &inputs{jobs: js, accounts: e.accounts}
	ch := &chains{jobs: js, inputs: e.inputs}
	e.schedule = &schedule{jobs: js, holds: e.holds, inputs: e.inputs}
	e.gates = &gates{jobs: js, breakers: e.breakers, schedule: e.schedule}
	e.settler = &settler{jobs: js, inputs: e.inputs, schedule: e.schedule}
	e.builder = &builder{jobs: js, chains: ch, inputs: e.inputs}
	e.placement = &placement{jobs: js, accounts: e.accounts, schedule: e.schedule}
	e.starter = &starter{jobs: js, accounts: e.accounts, builder: e.builder, chains: ch, gates: e.gates, holds: e.holds, inputs: e.inputs, placement: e.placement, schedule: e.schedule, settler: e.settler}
	e.outcomes = &outcomes{jobs: js, accounts: e.accounts, breakers: e.breakers, builder: e.builder, gates: e.gates, holds: e.holds, inputs: e.inputs, limits: e.limits, placement: e.placement, schedule: e.schedule}
	e.requests = &requests{jobs: js, accounts: e.accounts, builder: e.builder, holds: e.holds, inputs: e.inputs, schedule: e.schedule}
	e.rows = &rows{jobs: js, accounts: e.accounts, builder: e.builder, reuse: &reuse{jobs: js, builder: e.builder}}
	e.summary = &summary{jobs: js, accounts: e.accounts, breakers: e.breakers, holds: e.holds, outcomes: e.outcomes, rows: e.rows}
	e.report = e.summary.reporter()
	e.backends = e.newBackends()
	e.inputs.staging = e.inputs.newStaging()
	e.rows.deletions, e.rows.releases = &deletions{run: r, places: e.backends}, &releases{jobs: js, places: e.backends}
	return e
}

// mint makes a token: 128 random bits as 32 hex digits.
func mint() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand(3) ends the process instead
	return hex.EncodeToString(b[:])
}

// Run applies a plan under the lease that the session holds. When ctx ends,
// it stops driving and leaves jobs alone; the outcome says what still runs.
// An error means that the run could not go on; the outcome is filled even so.
func Run(ctx context.Context, c Config) (progress.Outcome, error) {
	e := newEngine(ctx, c)
	defer e.Close()
	e.report.Begin()
	if err := e.open(); err != nil {
		return e.summary.outcome(), err
	}
	e.drive(ctx)
	e.end()
	return e.summary.outcome(), e.err
}

// open readies everything before the first turn: the approval, the jobs, the
// backends, and what the plan asks for that is not a launch.
func (e *engine) open() error {
	if err := e.approve(); err != nil {
		return err
	}
	e.loadPhases()
	e.settler.load()
	if err := e.loadBackends(); err != nil {
		return err
	}
	e.rows.readdress()
	e.machines()
	e.holds.load()
	e.accounts.load()
	e.loadAttempts()
	e.accounts.reconcile()
	e.accounts.publish(e.accounts.budgets.Settle())
	e.rows.apply()
	e.loadCells()
	e.inputs.loadTransfers()
	e.settler.check()
	e.gates.load()
	e.breakers.load()
	e.inputs.loadCode()
	e.backends.Recover(func() bool { return e.leavesJobs() && !e.Stopped() && !e.holds.All })
	e.openSpares()
	if e.holds.Any() {
		e.holds.controlAll()
	}
	e.backends.TakeOver(e.holds.All)
	e.requests.serve()
	return e.err
}

func (e *engine) drive(ctx context.Context) {
	for e.err == nil {
		e.turn()
		if e.err != nil {
			return
		}
		if e.finished() {
			if e.rows.releases.askLast() {
				continue
			}
			if e.accounts.shorted > 0 {
				e.limits.stopShort()
			}
			// Submitted jobs may cost less than their ceiling, and free some.
			if e.accounts.budgets.Short && !e.Stopped() && (e.Mode == Drive || len(e.attempts) == 0) {
				e.halt(progress.Budget, e.accounts.budgets.Why)
			}
			return
		}
		if !e.wait(ctx) {
			return
		}
	}
}

// turn decides, makes it durable, and sends it.
func (e *engine) turn() {
	e.wake, e.glance = time.Time{}, time.Time{}
	e.schedule.releaseRetries()
	e.settler.settle()
	e.inputs.staging.Release()
	if !e.Stopped() && !e.Plan.Destroy {
		wake, glance := e.backends.Look(e.holds.wants)
		e.wakeAt(wake)
		e.glance = glance
	}
	e.rows.releases.look()
	e.accounts.reconcileEnded()
	e.limits.watchWaits()
	e.limits.keepWithin()
	e.glance = clock.Earliest(e.glance, e.accounts.waits)
	e.glance = clock.Earliest(e.glance, e.limits.deadline)
	e.schedule.goOn()
	e.starter.dispatch()
	for e.schedule.goOn() {
		e.starter.dispatch()
	}
	if e.leavesJobs() {
		e.starter.submitAhead()
	}
	e.accounts.publish(e.accounts.budgets.Publish())
	if e.commit() {
		e.send()
	}
	e.report.Tick()
}

// wait blocks until there is news, and takes all of it. It returns false
// when the run is to stop.
func (e *engine) wait(ctx context.Context) bool {
	var timer <-chan time.Time
	if at := e.alarm(); !at.IsZero() {
		t, stop := e.Time.Timer(max(at.Sub(e.Clock()), time.Millisecond))
		defer stop()
		timer = t
	}
	e.Take(timer, ctx.Done(), e.Session.Lost())
	switch {
	case clock.Closed(e.Session.Lost()):
		e.halt(progress.LeaseLost, "another muster took the lease")
		e.err = store.ErrLost
		return false
	case ctx.Err() != nil:
		e.halt(progress.Interrupted, "")
		return false
	}
	return true
}

// alarm is when the loop has to turn even without news.
func (e *engine) alarm() time.Time {
	at := clock.Earliest(e.wake, e.glance)
	if !e.unsynced.IsZero() {
		at = clock.Earliest(at, e.unsynced.Add(syncAtLeast))
	}
	return clock.Earliest(at, e.report.Next())
}

// A storeError says that the state could not be written. Nothing was started
// after it, and jobs that run go on.
type storeError struct{ Err error }

func (e *storeError) Error() string {
	return fmt.Sprintf("write state: %v: nothing more is started, running jobs continue; make room or repair the store, then run the same command again", e.Err)
}

// Unwrap gives the store's own error.
func (e *storeError) Unwrap() error { return e.Err }

// finished reports whether nothing is left that this run could see through.
func (e *engine) finished() bool {
	if e.Plan.Destroy && e.restUnknown() {
		return !e.sending()
	}
	if e.backends.Unanswered > 0 || e.sending() || e.backends.Keeping > 0 && e.Mode == Drive {
		return false
	}
	if e.Mode != Drive {
		return e.allSubmitted()
	}
	if !e.Stopped() && !e.wake.IsZero() {
		return false // a delay, a rate or a back-off is being waited out
	}
	return !e.holds.moves() && !e.schedule.retrying(nil) && !e.inputs.staging.Moving() && !e.waitsForBackend() && (e.Stopped() || !e.backends.WaitsForRoom(e.holds.wants))
}

// restUnknown reports whether only jobs are left whose backends cannot be asked: the
// next destroy ends them, or learns that they ended.
func (e *engine) restUnknown() bool {
	for _, f := range e.attempts {
		if f.Status != cells.Unknown || f.End != backends.Stays && !f.B.Away() {
			return false
		}
	}
	return len(e.attempts) > 0
}

// allSubmitted reports whether a submission is complete: nothing is being sent,
// looked for or moved, and no machine that is rented is about to get a job. A transfer is
// the engine's work, so -once sees it through and -detach names it.
func (e *engine) allSubmitted() bool {
	if e.backends.Unanswered > 0 || e.inputs.staging.Shipping() || e.inputs.staging.Asking() || e.sending() {
		return false
	}
	return !e.inputs.staging.Transferring() && !e.backends.Unsettled() && !e.backends.CatchUp()
}

// waitsForBackend reports whether something could start if only its backend
// answered.
func (e *engine) waitsForBackend() bool {
	if e.Stopped() || e.holds.All {
		return false
	}
	for _, b := range e.backends.Queues {
		if b.Answers() || b.Closed {
			continue
		}
		for _, p := range e.phases {
			if p.queues[b.Ord].Len() > 0 && !e.holds.stopped(p) {
				return true
			}
		}
	}
	return false
}

// end ends a run in good order: it withdraws unsent jobs, awaits calls in flight, and makes
// all durable.
func (e *engine) end() {
	if e.Sync() {
		e.send()
	}
	deadline, stop := e.Time.Timer(farewell)
	defer stop()
	for e.err == nil && e.sending() {
		if e.Take(deadline, nil, nil) {
			e.halt(progress.Interrupted, "")
			break
		}
		if e.Sync() {
			e.send()
		}
	}
	e.settler.rest()
	if e.err == nil {
		e.accounts.reconcile()
		e.conclude()
		e.accounts.publish(e.accounts.budgets.Publish())
		e.Sync()
	}
	if e.err == nil {
		e.backends.Acknowledge()
	}
	e.report.Final()
}

// send submits minted jobs, and sending reports whether some of it is
// on its way.
func (e *engine) send() {
	if !e.mute() {
		e.wakeAt(e.backends.Send(e.holds.All))
	}
}

func (e *engine) sending() bool { return e.backends.Sending(e.mute()) }
