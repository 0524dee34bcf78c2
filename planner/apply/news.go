package apply

import (
	"cmp"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// newBackends returns the backends of this run.
func (e *engine) newBackends() *backends.Set {
	return backends.New(backends.Config{
		Loop: e.Loop, Ctx: e.Context(), Time: e.Time, Campaign: e.Campaign, State: e.st, Fence: e.Session.Fence(), Holder: e.Session.Holder(),
		Engine: e, Provider: e.Provider, Environ: e.Environ, Stays: e.Mode == Drive, Away: e.Away,
	})
}

// loadBackends configures every backend that the plan or a job in flight
// needs.
func (e *engine) loadBackends() error {
	for _, name := range e.required().Needed() {
		done := e.report.Slow("waiting for backend." + name)
		err := e.backends.Open(name)
		if done(); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) required() requiredBackends {
	return requiredBackends{Plan: e.Plan, Campaign: e.Campaign, State: e.st, Starts: !e.Stopped()}
}

// openSpares gets to know, beside the run, the approved candidates that the
// plan does not use: they take over where another one is away or refuses.
func (e *engine) openSpares() {
	if e.Stopped() {
		return
	}
	for _, name := range e.required().Spares() {
		e.backends.OpenSpare(name)
	}
}

// Hear takes in the news of backends.
func (e *engine) Hear(n backends.News) {
	switch n := n.(type) {
	case backends.Met:
		e.inputs.staging.Met()
		for _, p := range e.phases {
			for len(p.queues) < len(e.backends.Queues) {
				p.queues = append(p.queues, cells.Queue{Length: p.length, Rank: p.rank})
			}
		}
	case backends.Room:
		e.holds.roomSeen(n.Backend, n.Was)
	case backends.Tripped:
		e.breakers.trip(n)
	case backends.LetGo:
		for _, o := range n.Attempts {
			if f := e.attempts[o.Token]; f != nil && f.short == "" && (f.Status == cells.Queued || f.Status == cells.Waiting) {
				e.limits.recordShort(f)
			}
		}
	case backends.Untaken:
		e.holds.again(n)
	case backends.Unheld:
		e.limits.unheld(n.Attempts, n.Backend, n.Why)
	case backends.Overtaken:
		e.halt(progress.LeaseLost, "backend."+n.Name+" now serves another muster")
		e.err = n.Err
	case backends.Rented:
		e.machine(n.Backend, &n.Machine)
	case backends.Accepted:
		f := e.attempts[n.Token]
		ev := state.Submitted{Address: f.Addr, Token: f.Token, Handle: f.Handle, Queue: f.Queue, At: e.Clock()}
		if f.Stage != offer.Released {
			ev.Stage = string(f.Stage)
		}
		e.Emit(ev)
		if f.End == backends.Stays {
			f.mark(cells.Queued)
		}
		e.outcomes.tellHolder(f)
	case backends.Moved:
		f := e.attempts[n.Token]
		f.mark(f.Status)
	case backends.Lost:
		e.Emit(state.Unreachable{Away: state.Away{Backend: n.FullName(), Reason: n.Down, At: e.Clock()}})
	case backends.Answered:
		e.Emit(state.Reachable{Backend: n.FullName(), At: e.Clock()})
	default:
		e.hearOf(n)
	}
}

// hearOf takes in news of one attempt that its backend gave after it was accepted.
func (e *engine) hearOf(n backends.News) {
	switch n := n.(type) {
	case backends.Cancelling:
		if f := e.attempts[n.Token]; f.p != nil && !f.smoke {
			f.p.Set(f.cell, cells.Ending)
		}
	case backends.Seen:
		f := e.attempts[n.Token]
		if e.outcomes.observe(f, n.O); e.attempts[n.Token] == f {
			f.park(true)
		}
	case backends.Late:
		e.outcomes.late(e.attempts[n.Token], n.O, n.Launch)
	case backends.Absent:
		e.outcomes.resubmit(e.attempts[n.Token])
	case backends.Refused:
		e.outcomes.refused(e.attempts[n.Token], n.Err)
	case backends.Unsent:
		e.outcomes.withdraw(e.attempts[n.Token], n.Why)
	case backends.Gone:
		f := e.attempts[n.Token]
		e.outcomes.ended(f, state.Cancelled, cmp.Or(n.Why, f.End.Reason(f.by)))
	}
}
