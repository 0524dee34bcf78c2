package apply

import (
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/planner/lateness"
)

// newTeller tells whoever looks on how this run stands.
func (e *engine) newTeller() *standing.Teller {
	return &standing.Teller{Show: e.Progress, Time: e.Time, Phases: e.standing, Held: func() bool { return !e.unsynced.IsZero() }}
}

// standing is how every phase stands.
func (e *engine) standing() []standing.Phase {
	out := make([]standing.Phase, len(e.phases))
	blocked := cells.Blocked(e.nodes)
	e.countLate()
	for i, p := range e.phases {
		s := standing.Of(p.Name, &p.Node, blocked[i])
		s.Unsubmitted, s.HeldThere = s.Unsubmitted+p.parked[unsubmitted], p.parked[heldThere]
		s.Queued -= p.parked[unsubmitted] + p.parked[heldThere]
		s.Before, s.Gate, s.Waits = p.before, e.gateText(p), p.stalled.Why
		s.Late, s.Overdue = p.late[lateness.Late], p.late[lateness.Overdue]
		if s.Waiting > 0 {
			s.RetryAt = e.lastRetry(p)
		}
		out[i] = s
	}
	return out
}

// lastRetry is when the last of a phase's jobs that wait for their retry may start.
func (e *engine) lastRetry(p *phase) (at time.Time) {
	for c, status := range p.At {
		if status != cells.Waiting {
			continue
		}
		if rec := e.st.Jobs[p.Phase.Address(c)]; rec != nil && rec.Retry.After(at) {
			at = rec.Retry
		}
	}
	return at
}

// lateEvery is how long a count of late jobs is shown before it is taken again.
const lateEvery = 30 * time.Second

// countLate counts the running jobs that take longer than completed ones did.
func (e *engine) countLate() {
	now := e.Clock()
	if now.Sub(e.lateAt) < lateEvery || clock.IsVirtual(e.Time) {
		return
	}
	e.lateAt = now
	paces := map[*phase]*lateness.Phase{}
	for _, p := range e.phases {
		p.late = nil
	}
	for _, f := range e.flights {
		rec := e.st.Jobs[f.Key]
		if f.p == nil || f.smoke || f.Status != cells.Running || rec == nil || rec.Last() == nil {
			continue
		}
		if paces[f.p] == nil {
			paces[f.p], f.p.late = lateness.Of(f.p.Phase, wish.Records(f.p.plan, e.st), e.st.Definitions), map[lateness.Mark]int{}
		}
		if mark, _ := paces[f.p].Running(int(f.cell), rec.Last().Started, rec, now); mark != "" {
			f.p.late[mark]++
		}
	}
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
