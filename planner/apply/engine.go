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
// and a sender for each backend, one for requests, one for each transfer lane)
// post closures into the inbox, and the loop runs them.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/deletion"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/loop"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/rental"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

const (
	syncAtLeast = 200 * time.Millisecond // observations are durable after this; intents at once
	farewell    = 3 * time.Second        // for calls in flight when a run stops
)

type engine struct {
	Config
	*loop.Loop
	st *state.State

	phases []*phase
	nodes  []*cells.Node // of the same
	byName map[string]*phase

	fleet    *fleet.Fleet       // what backends have
	flights  map[string]*flight // by token
	byJob    map[string]*flight // by state address
	budgets  ledger.Books
	prices   ledger.Prices
	rises    map[place.PoolAt]bills          // by this run's bills
	shorted  int                             // jobs that a limit holds in their queues
	repriced bool                            // queued jobs cost what their places ask now
	billed   func(address, token string) int // the last launch in the ledger
	holds    brake.Holds
	retries  relaunch.Queue
	rate     brake.Rate
	freight  *freight.Freight
	report   *standing.Teller
	approval string // plan id that new attempts are recorded under

	quiet     bool          // nothing is sent: a request is done, or what came of jobs is read
	halted    standing.Stop // nothing new is started
	why       string        // in words
	err       error
	unsynced  time.Time // when the oldest unsynced event was appended; zero = none
	wake      time.Time // earliest timer
	deadline  time.Time // of a budget, when what is queued is held; zero = none ahead
	waits     time.Time // when waits that are billed are looked at again; zero = never
	glance    time.Time // when volumes are looked at again; no run waits for it
	lateAt    time.Time // when late jobs were last counted
	cancelled int
	signed    map[string]bool // workdirs, by site.Spot.Files
	deletion  *deletion.Run   // of outputs, by a destroy
	rental    *rental.Run     // of machines that are given back
	first     string          // first thing that needs muster, in a hand-over
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
		c.Secrets = site.Secret
	}
	e := &engine{
		Config: c, Loop: loop.New(ctx, c.Time), st: c.Session.State(),
		byName: map[string]*phase{},
		prices: ledger.Prices{}, flights: map[string]*flight{}, byJob: map[string]*flight{},
	}
	e.report = e.newTeller()
	e.freight, e.fleet, e.deletion, e.rental = e.newFreight(), e.newFleet(), e.newDeletion(), e.newRental()
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
func Run(ctx context.Context, c Config) (standing.Outcome, error) {
	e := newEngine(ctx, c)
	defer e.Close()
	e.report.Begin()
	if err := e.open(); err != nil {
		return e.outcome(), err
	}
	e.drive(ctx)
	e.end()
	return e.outcome(), e.err
}

// open readies everything before the first turn: the approval, the jobs, the
// backends, and what the plan asks for that is not a launch.
func (e *engine) open() error {
	if err := e.approve(); err != nil {
		return err
	}
	e.loadPhases()
	if err := e.loadBackends(); err != nil {
		return err
	}
	e.loadHolds()
	e.loadBudgets()
	e.loadFlights()
	e.applyRows()
	e.loadCells()
	e.loadTransfers()
	e.loadGates()
	e.loadBreakers()
	e.loadCode()
	e.fleet.Recover(func() bool { return e.handingOver() && e.halted == standing.None && !e.holds.All })
	e.openSpares()
	if e.holds.Any() {
		e.controlAll()
	}
	e.fleet.TakeOver(e.holds.All)
	e.serveRequests()
	return e.err
}

func (e *engine) drive(ctx context.Context) {
	for e.err == nil {
		e.turn()
		if e.err != nil {
			return
		}
		if e.finished() {
			if e.shorted > 0 {
				e.stopShort()
			}
			// What was handed over may cost less than its ceiling, and free some.
			if e.budgets.Short && e.halted == standing.None && (e.Mode == Drive || len(e.flights) == 0) {
				e.halt(standing.Budget, e.budgets.Why)
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
	e.releaseRetries()
	e.freight.Release()
	if e.halted == standing.None && !e.Plan.Destroy {
		wake, glance := e.fleet.Look(e.wants)
		e.wakeAt(wake)
		e.glance = glance
	}
	e.watchWaits()
	e.keepWithin()
	e.glance = clock.Earliest(e.glance, e.waits)
	e.glance = clock.Earliest(e.glance, e.deadline)
	e.dispatch()
	if e.handingOver() {
		e.handOver()
	}
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
		e.halt(standing.LeaseLost, "another muster took the lease")
		e.err = store.ErrLost
		return false
	case ctx.Err() != nil:
		e.halt(standing.Interrupted, "")
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

func (e *engine) wakeAt(t time.Time) { e.wake = clock.Earliest(e.wake, t) }

// Clock is the time that the run lives by.
func (e *engine) Clock() time.Time { return e.Time.Now() }

// emit folds an event into the state. After an error nothing is folded.
func (e *engine) emit(ev state.Event) {
	if e.err != nil {
		return
	}
	if err := e.Session.Append(ev); err != nil {
		e.storeFailed(err)
		return
	}
	if e.unsynced.IsZero() {
		e.unsynced = e.Clock()
	}
	if e.Event != nil {
		e.report.Tell(func() { e.Event(ev) })
	}
}

// commit makes what was appended durable when something depends on it or it
// has waited long enough. It reports whether the outboxes may be sent.
func (e *engine) commit() bool {
	if e.err != nil {
		return false
	}
	if e.unsynced.IsZero() {
		return true
	}
	if !e.fleet.Outgoing() && e.Clock().Sub(e.unsynced) < syncAtLeast {
		return false
	}
	return e.sync()
}

func (e *engine) sync() bool {
	if e.err != nil {
		return false
	}
	if err := e.Session.Sync(e.Context()); err != nil {
		e.storeFailed(err)
		return false
	}
	e.unsynced = time.Time{}
	e.report.Durable()
	e.fleet.Durable()
	return true
}

func (e *engine) storeFailed(err error) {
	if errors.Is(err, store.ErrLost) {
		e.halt(standing.LeaseLost, "another muster took the lease")
		e.err = err
		return
	}
	e.halt(standing.StoreFailed, "the state cannot be written: "+err.Error())
	e.err = &StoreError{Err: err}
}

// A StoreError says that the state could not be written. Nothing was started
// after it, and jobs that run go on.
type StoreError struct{ Err error }

func (e *StoreError) Error() string {
	return fmt.Sprintf("write state: %v: nothing more is started, running jobs go on; make room or mend the store, then run the same command again", e.Err)
}

// Unwrap gives the store's own error.
func (e *StoreError) Unwrap() error { return e.Err }

// halt stops starts for the rest of the run. The first reason stands.
func (e *engine) halt(s standing.Stop, why string) {
	if e.halted == standing.None {
		e.halted, e.why = s, why
	}
}

// finished reports whether nothing is left that this run could see through.
func (e *engine) finished() bool {
	if e.fleet.Unanswered > 0 || e.sending() || e.fleet.Keeping > 0 && e.Mode == Drive {
		return false
	}
	if e.Mode != Drive {
		return e.handedOver()
	}
	if e.halted == standing.None && !e.wake.IsZero() {
		return false // a delay, a rate or a back-off is being waited out
	}
	return !e.moves() && !e.retrying() && !e.freight.Moving() && !e.waitsForBackend() && (e.halted != standing.None || !e.fleet.WaitsForRoom(e.wants))
}

// waitsForBackend reports whether something could start if only its backend
// answered.
func (e *engine) waitsForBackend() bool {
	if e.halted != standing.None || e.holds.All {
		return false
	}
	for _, b := range e.fleet.Queues {
		if b.Answers() {
			continue
		}
		for _, p := range e.phases {
			if p.queues[b.Ord].Len() > 0 && !p.breaker.Open && !e.holds.Phases[p.Name] && !p.Gate.Failed {
				return true
			}
		}
	}
	return false
}

// end ends a run in good order: what was minted and not sent is withdrawn,
// calls in flight are awaited, and all is made durable.
func (e *engine) end() {
	if e.sync() {
		e.send()
	}
	deadline, stop := e.Time.Timer(farewell)
	defer stop()
	for e.err == nil && e.sending() {
		if e.Take(deadline, nil, nil) {
			e.halt(standing.Interrupted, "")
			break
		}
		if e.sync() {
			e.send()
		}
	}
	if e.err == nil {
		e.conclude()
		e.sync()
	}
	if e.err == nil {
		e.fleet.Acknowledge()
	}
	e.report.Final()
}

// send hands over what was minted, and sending reports whether some of it is
// on its way.
func (e *engine) send() {
	if !e.mute() {
		e.wakeAt(e.fleet.Send(e.holds.All))
	}
}

func (e *engine) sending() bool { return e.fleet.Sending(e.mute()) }

// mute reports whether nothing may be sent any more: its intent would not be
// durable, or not ours to make.
func (e *engine) mute() bool {
	return e.halted == standing.LeaseLost || e.halted == standing.StoreFailed
}
