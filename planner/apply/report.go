package apply

import (
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/standing"
)

// newTeller tells whoever looks on how this run stands.
func (e *engine) newTeller() *standing.Teller {
	return &standing.Teller{Show: e.Progress, Time: e.Time, Phases: e.standing, Held: func() bool { return !e.unsynced.IsZero() }}
}

// standing is how every phase stands.
func (e *engine) standing() []standing.Phase {
	out := make([]standing.Phase, len(e.phases))
	blocked := cells.Blocked(e.nodes)
	for i, p := range e.phases {
		s := standing.Of(p.Name, &p.Node, blocked[i])
		s.Before, s.Gate, s.Waits = p.before, e.gateText(p), p.stalled.Why
		out[i] = s
	}
	return out
}

func (e *engine) gateText(p *phase) string {
	switch {
	case e.holds.All || e.holds.Phases[p.Name]:
		return "hold"
	case p.breaker.Open:
		return "breaker"
	case p.Gate.Shut():
		return "smoke"
	case p.Gate.Piloting():
		return "pilot"
	}
	return ""
}
