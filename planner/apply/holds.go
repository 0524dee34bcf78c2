package apply

import (
	"context"

	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
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
	hold := e.holds.All
	for _, b := range e.backends {
		if hold || b.told {
			e.tell(b, hold)
		}
	}
	if !hold && e.holds.Any() {
		e.controlQueued(func(f *flight) bool { return e.covers(f.p, f.cell) }, true)
	}
}

// takeOver tells the queues that have jobs of this campaign who drives it now:
// from then on they refuse what a muster that was overtaken still sends.
func (e *engine) takeOver() {
	for _, f := range e.flights {
		e.tell(f.b, e.holds.All)
	}
}

// tell says to a backend's queue whether it may start jobs of this campaign,
// unless it knows.
func (e *engine) tell(b *backend, hold bool) {
	if b.Provider == nil || b.told && b.held == hold || !e.queues(b) {
		return
	}
	b.told, b.held = true, hold
	r := providers.ControlRequest{Hold: &hold}
	if b.Can.HostQueue { // it goes on with muster off
		limit := e.Campaign.MaxParallel
		if limit <= 0 {
			limit = -1
		}
		r.Cap = &limit
	}
	e.control(b, r)
}

// queues reports whether a backend starts jobs by itself.
func (e *engine) queues(b *backend) bool { return b.Can.HostQueue || b.Can.Dependencies }

// controlQueued holds or releases, in their queues, the jobs that match.
func (e *engine) controlQueued(match func(*flight) bool, hold bool) {
	by := map[*backend][]string{}
	for _, f := range e.flights {
		if (f.status == cells.Queued || f.status == cells.Submitting || f.status == cells.Waiting) && e.queues(f.b) && match(f) {
			by[f.b] = append(by[f.b], f.token)
		}
	}
	for b, tokens := range by {
		e.control(b, providers.ControlRequest{Hold: &hold, Tokens: tokens})
	}
}

func (e *engine) control(b *backend, r providers.ControlRequest) {
	r.Backend, r.Fence, r.Holder = b.Name, e.Session.Fence(), e.Session.Holder()
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(e.ctx, line.AskTimeout)
		defer cancel()
		err = b.Provider.Control(ctx, r)
	}, func() {
		if err == nil || line.ClassOf(err) == "" {
			return
		}
		if line.ClassOf(err) == providers.StaleFence {
			e.overtaken(b, err)
			return
		}
		if r.Hold != nil && len(r.Tokens) == 0 {
			b.told = false // it is told again before it is given anything
		}
		if r.Hold == nil || *r.Hold || line.ClassOf(err) != providers.Unreachable {
			e.report.note(e, b.title(), b.title()+" did not take the hold: "+err.Error(), true)
		}
	})
}
