package apply

import (
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// loadHolds takes the holds in force from the state.
func (e *engine) loadHolds() { e.holds = brake.HoldsOf(e.st) }

// covers reports whether a cell may not start. Flights that the campaign does
// not want have no phase.
func (e *engine) covers(p *phase, cell int32) bool {
	if p == nil {
		return e.holds.All
	}
	return e.holds.Covers(p.Phase, int(cell))
}

// controlAll tells every queue what it may start by itself.
func (e *engine) controlAll() {
	e.fleet.TellAll(e.holds.All)
	if !e.holds.All && e.holds.Any() {
		e.controlQueued(func(f *flight) bool { return e.covers(f.p, f.cell) }, true)
	}
}

// controlQueued holds or releases, in their queues, the jobs that match.
func (e *engine) controlQueued(match func(*flight) bool, hold bool) {
	by := map[*fleet.Backend][]string{}
	for _, f := range e.flights {
		if (f.Status == cells.Queued || f.Status == cells.Submitting || f.Status == cells.Waiting) && f.B.Starts() && match(f) {
			by[f.B] = append(by[f.B], f.Token)
		}
	}
	for b, tokens := range by {
		e.fleet.HoldJobs(b, tokens, hold)
	}
}

// moves reports whether a flight will end by itself. What a hold or a breaker
// keeps in the queue of a backend does not, nor what is queued there to come
// after other jobs: it moves when they do. It is asked at every turn, of queues of
// any length: while a job runs that is answer enough, and no flight is asked.
func (e *engine) moves() bool {
	stopped, runs := e.holds.Any() || e.shorted > 0, false
	for _, p := range e.phases {
		stopped = stopped || p.breaker.Open
		runs = runs || p.Counts[cells.Running]+p.Counts[cells.Verifying] > 0
	}
	if runs || !stopped {
		for _, f := range e.flights {
			if !f.Stranded {
				return true
			}
		}
		return false
	}
	for _, f := range e.flights {
		if !f.Stranded && !e.stuck(f) {
			return true
		}
	}
	return false
}

// stuck reports whether a flight is queued and stays so.
func (e *engine) stuck(f *flight) bool {
	switch {
	case f.Status != cells.Queued && f.Status != cells.Waiting:
		return false
	case f.short != "":
		return true
	case !f.B.Starts():
		return e.shorted > 0 && f.p != nil && f.p.Waits[f.cell] > 0
	}
	return e.covers(f.p, f.cell) || f.p != nil && (f.p.breaker.Open || f.comesAfter())
}

// comesAfter reports whether a flight waits for others: what it reads, or what
// its phase tries first.
func (f *flight) comesAfter() bool {
	g := &f.p.Gate
	switch {
	case f.p.Waits[f.cell] > 0:
		return true
	case f.smoke:
		return f.p.Smoke != nil && !f.p.Smoke.Parallel && g.Shut() && g.Order[0] < f.cell
	}
	return g.Before(f.cell)
}

// wants reports whether something that may start waits in a queue.
func (e *engine) wants(b *fleet.Backend) bool {
	for _, p := range e.phases {
		if p.queues[b.Ord].Len() > 0 && !e.stopped(p) {
			return true
		}
	}
	return false
}

// roomSeen stops launches on a queue while its volume is full, here and in the
// queue itself, and lets them go on when there is room.
func (e *engine) roomSeen(b *fleet.Backend, was string) {
	name := providers.At(b.Name, b.Pool)
	_, noted := e.st.Pauses[name] // by an earlier run, too
	switch {
	case b.Full != "" && was == "":
		if !noted {
			e.emit(state.Paused{Pause: state.Pause{Backend: name, Reason: b.Full, At: e.Clock()}})
		}
		e.report.Note(b.Title(), b.Title()+" starts nothing until its workdir takes files, and the others go on: "+b.Full, true)
		e.fleet.Withdraw(b, b.Title()+" takes no files")
		e.controlQueued(func(f *flight) bool { return f.B == b }, true)
	case b.Full == "" && noted:
		e.emit(state.Unpaused{Backend: name, At: e.Clock()})
		e.report.Note(b.Title(), b.Title()+"'s workdir takes files again", false)
		e.controlQueued(func(f *flight) bool { return f.B == b && e.mayStart(f) }, false)
	}
}

// releaseForgotten lets go a job that its queue still holds though nothing does
// any more: whoever held it was gone, or out of reach, when the reason ended.
func (e *engine) releaseForgotten(f *flight, o *offer.Observation) {
	if o.Reason == offer.Held && f.B.Can.HostQueue && f.End == fleet.Stays && e.mayStart(f) {
		e.fleet.HoldJobs(f.B, []string{f.Token}, false)
	}
}

// mayStart reports whether nothing keeps a queue from starting a flight.
func (e *engine) mayStart(f *flight) bool {
	return f.short == "" && f.B.Full == "" && !e.covers(f.p, f.cell) && (f.p == nil || !f.p.breaker.Open)
}

// roomLost looks at a volume at once where a job found it full.
func (e *engine) roomLost(f *flight, class string) {
	if class == failure.DiskFull || class == failure.NoInodes {
		f.B.LookAtOnce()
	}
}
