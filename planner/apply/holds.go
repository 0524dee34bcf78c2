package apply

import (
	"context"
	"strings"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// holds are the holds in force: for everything, for phases, for selections.
type holds struct {
	all   bool
	phase map[string]bool
	some  []addr.Selection
	text  string // whose, and why
}

// loadHolds takes the holds from the state and tells the queues.
func (e *engine) loadHolds() {
	e.holds = holds{phase: map[string]bool{}}
	for _, h := range e.st.Holds {
		e.holds.add(h)
	}
}

func (hs *holds) any() bool { return hs.all || len(hs.phase)+len(hs.some) > 0 }

// add takes a hold in. One that names nothing we understand holds everything:
// the safe reading of a person's word.
func (hs *holds) add(h state.Hold) {
	hs.text = "held by " + h.Who
	if h.Reason != "" {
		hs.text += ": " + h.Reason
	}
	name := strings.TrimPrefix(h.Address, "phase.")
	switch {
	case h.Address == "":
		hs.all = true
	case name != h.Address && addr.ValidName(name):
		hs.phase[name] = true
	default:
		sel, err := addr.ParseSelection(h.Address)
		if err != nil {
			hs.all = true
			return
		}
		hs.some = append(hs.some, sel)
	}
}

// covers reports whether a job may not start.
func (hs *holds) covers(p *phase, cell int32) bool {
	if hs.all {
		return true
	}
	if p == nil {
		return false
	}
	if hs.phase[p.Name] {
		return true
	}
	for i := range hs.some {
		if hs.some[i].Match(addr.Job{Phase: p.Name, Key: p.Key(int(cell))}, p.Label(int(cell))) {
			return true
		}
	}
	return false
}

// controlAll tells every queue what it may start by itself.
func (e *engine) controlAll() {
	hold := e.holds.all
	for _, b := range e.backends {
		if hold || b.told {
			e.tell(b, hold)
		}
	}
	if !hold && e.holds.any() {
		e.controlQueued(func(f *flight) bool { return e.holds.covers(f.p, f.cell) }, true)
	}
}

// tell says to a backend's queue whether it may start jobs of this campaign,
// unless it knows.
func (e *engine) tell(b *backend, hold bool) {
	if b.p == nil || b.told && b.held == hold || !e.queues(b) {
		return
	}
	b.told, b.held = true, hold
	e.control(b, providers.ControlRequest{Hold: &hold})
}

// queues reports whether a backend starts jobs by itself.
func (e *engine) queues(b *backend) bool { return b.can.HostQueue || b.can.Dependencies }

// controlQueued holds or releases, in their queues, the jobs that match.
func (e *engine) controlQueued(match func(*flight) bool, hold bool) {
	by := map[*backend][]string{}
	for _, f := range e.flights {
		if (f.status == queued || f.status == submitting || f.status == waiting) && e.queues(f.b) && match(f) {
			by[f.b] = append(by[f.b], f.token)
		}
	}
	for b, tokens := range by {
		e.control(b, providers.ControlRequest{Hold: &hold, Tokens: tokens})
	}
}

func (e *engine) control(b *backend, r providers.ControlRequest) {
	r.Backend, r.Fence = b.name, e.Session.Fence()
	var err error
	e.call(b, func() {
		ctx, cancel := context.WithTimeout(e.ctx, askTimeout)
		defer cancel()
		err = b.p.Control(ctx, r)
	}, func() {
		if err != nil && classOf(err) != "" {
			e.report.note(e, "backend."+b.name, "backend."+b.name+" did not take the hold: "+err.Error(), true)
		}
	})
}
