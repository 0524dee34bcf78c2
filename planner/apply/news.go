package apply

import (
	"cmp"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/reach"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// newFleet is what backends have in this run.
func (e *engine) newFleet() *fleet.Fleet {
	return fleet.New(fleet.Run{
		Loop: e.Loop, Ctx: e.Context(), Time: e.Time, Campaign: e.Campaign, State: e.st, Fence: e.Session.Fence(), Holder: e.Session.Holder(),
		Provider: e.Provider, Environ: e.Environ, Stays: e.Mode == Drive,
		Hear: e.hear, Later: e.Later, Sync: func() { e.sync() },
		Note: e.report.Note,
	})
}

// loadBackends configures every backend that the plan or a job in flight
// needs.
func (e *engine) loadBackends() error {
	for _, name := range e.reach().Needed() {
		done := e.report.Slow("waiting for backend." + name)
		err := e.fleet.Open(name)
		if done(); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) reach() reach.Run {
	return reach.Run{Plan: e.Plan, Campaign: e.Campaign, State: e.st, Starts: e.halted == standing.None}
}

// openSpares gets to know, beside the run, the approved candidates that the
// plan does not use: they take over where another one is away or refuses.
func (e *engine) openSpares() {
	if e.halted != standing.None {
		return
	}
	for _, name := range e.reach().Spares() {
		e.fleet.OpenSpare(name)
	}
}

// hear takes in what the fleet learnt.
func (e *engine) hear(n fleet.News) {
	switch n := n.(type) {
	case fleet.Met:
		e.freight.Met()
		for _, p := range e.phases {
			for len(p.queues) < len(e.fleet.Queues) {
				p.queues = append(p.queues, cells.Queue{Length: p.length})
			}
		}
	case fleet.Room:
		e.roomSeen(n.Backend, n.Was)
	case fleet.Tripped:
		if p := e.byName[n.Phase]; p != nil {
			e.openBreaker(p, n.By, n.Why, 0)
		}
	case fleet.LetGo:
		for _, o := range n.Flights {
			if f := e.flights[o.Token]; f != nil && f.short == "" && (f.Status == cells.Queued || f.Status == cells.Waiting) {
				e.recordShort(f)
			}
		}
	case fleet.Unheld:
		e.unheld(n.Flights, n.Backend, n.Why)
	case fleet.Overtaken:
		e.halt(standing.LeaseLost, "backend."+n.Name+" serves another muster by now")
		e.err = n.Err
	case fleet.Accepted:
		f := e.flights[n.Token]
		ev := state.Submitted{Address: f.Addr, Token: f.Token, Handle: f.Handle, At: e.Clock()}
		if f.Stage != offer.Released {
			ev.Stage = string(f.Stage)
		}
		e.emit(ev)
		if f.End == fleet.Stays {
			f.mark(cells.Queued)
		}
		e.tellHolder(f)
	case fleet.Moved:
		f := e.flights[n.Token]
		f.mark(f.Status)
	case fleet.Lost:
		e.emit(state.Unreachable{Away: state.Away{Backend: n.FullName(), Reason: n.Down, At: e.Clock()}})
	case fleet.Answered:
		e.emit(state.Reachable{Backend: n.FullName(), At: e.Clock()})
	case fleet.Cancelling:
		if f := e.flights[n.Token]; f.p != nil && !f.smoke {
			f.p.Set(f.cell, cells.Ending)
		}
	case fleet.Seen:
		f := e.flights[n.Token]
		if e.observe(f, n.O); e.flights[n.Token] == f {
			f.park(true)
		}
	case fleet.Late:
		e.late(e.flights[n.Token], n.O, n.Launch)
	case fleet.Absent:
		e.resubmit(e.flights[n.Token])
	case fleet.Refused:
		e.refused(e.flights[n.Token], n.Err)
	case fleet.Unsent:
		e.withdraw(e.flights[n.Token], n.Why)
	case fleet.Gone:
		f := e.flights[n.Token]
		e.ended(f, state.Cancelled, cmp.Or(n.Why, f.End.Reason(f.by)))
	}
}

// resubmit sends an intent whose job surely did not arrive, under its token.
func (e *engine) resubmit(f *flight) {
	if f.p == nil || e.quiet || e.halted != standing.None && e.Mode == Drive && e.halted != standing.Interrupted {
		e.withdraw(f, "not wanted any more")
		return
	}
	if f.bereft {
		e.withdraw(f, "what it was to come after has failed")
		return
	}
	if f.Job == nil {
		rec := e.st.Jobs[f.Key]
		if rec != nil && e.became(f, rec) {
			e.withdraw(f, "it became another job before it was handed over")
			return
		}
		if v, _ := e.codeHere(f.p, f.B, f.Pool); v != started || !e.inputsReady(f) || !e.inputsFound(f) {
			e.withdraw(f, "its inputs have to be looked for again")
			return
		}
		job, _, diags := e.build(f)
		if diags.HasErrors() {
			e.withdraw(f, "it cannot be rendered")
			e.refuse(f, diags)
			return
		}
		f.Job = job
		if f.where != nil && f.tab.Dearer(ledger.TariffOf(f.where), *f.asked) {
			e.withdraw(f, f.B.Title()+" asks more for it than when it was minted")
			return
		}
	}
	if !e.budgets.Covers(&f.tab, e.Clock()) {
		e.withdraw(f, e.budgets.Why)
		return
	}
	e.fleet.Mint(&f.Flight)
}

// withdraw takes an intent back; its cell starts anew where it is wanted.
func (e *engine) withdraw(f *flight, why string) {
	e.emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: why, At: e.Clock()})
	e.land(f)
	e.again(f)
}

// again lets the cell of a landed flight start anew.
func (e *engine) again(f *flight) {
	switch {
	case f.p == nil:
	case f.smoke:
		f.p.Gate.Retry(f.cell)
		e.behindSmoke(f.p, f.cell)
	default:
		f.p.Set(f.cell, cells.Pending)
		e.unchain(f.p, f.cell) // they came after a token that is no more
		if f.p.Waits[f.cell] == 0 {
			e.makeReady(f.p, f.cell)
		}
	}
}

// startOver is for a flight that ended as another job than is wanted: its cell
// starts anew, if the plan starts it.
func (e *engine) startOver(f *flight) {
	if k := wish.Kind(f.p.plan, f.cell); !k.Starts() && k != planner.Blocked {
		f.p.Set(f.cell, cells.Held)
		e.unchain(f.p, f.cell)
		return
	}
	e.again(f)
}

// refused is for one job that its backend does not take: the next approved
// candidate gets it, else it is held.
func (e *engine) refused(f *flight, err *providers.Error) {
	if e.flights[f.Token] != f {
		return
	}
	if next := e.nextCandidate(f, "re-placed: "+f.B.Name+" "+f.Pool+" refused it"); next != nil {
		e.emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: err.Error(), At: e.Clock()})
		e.land(f)
		e.report.Note(f.Addr, f.Addr+" goes to "+next.Backend+" "+next.Pool+": "+err.Error(), false)
		f.p.places.Move(f.cell, next)
		e.again(f)
		return
	}
	if e.fleet.Opening > 0 && !f.smoke {
		e.Later(line.BackoffMin, func() { e.refused(f, err) })
		return
	}
	text := err.Error()
	if err.Hint != "" {
		text += " (" + err.Hint + ")"
	}
	if f.smoke {
		e.emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: text, At: e.Clock()})
		e.land(f)
		e.smokeFailed(f, text)
		return
	}
	e.holdJob(f.p, f.cell, text)
	e.emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: text, At: e.Clock()})
	e.land(f)
}
