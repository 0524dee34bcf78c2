package apply

import (
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
)

// A summary says how a run is going, and how it ended.
type summary struct {
	*jobs
	accounts *accounts
	breakers *breakers
	holds    *holds
	outcomes *outcomes
	rows     *rows
	lateAt   time.Time // when late jobs were last counted
}

// reporter shows how this run is going.
func (sm *summary) reporter() *progress.Reporter {
	return &progress.Reporter{Show: sm.Progress, Time: sm.Time, From: sm}
}

// Phases is the progress of every phase.
func (sm *summary) Phases() []progress.Phase {
	out := make([]progress.Phase, len(sm.phases))
	blocked := cells.Blocked(sm.nodes)
	sm.countLate()
	for i, p := range sm.phases {
		s := progress.Of(p.Name, &p.Vertex, blocked[i])
		s.Unsubmitted, s.HeldThere = s.Unsubmitted+p.parked[unsubmitted], p.parked[heldThere]
		s.Queued -= p.parked[unsubmitted] + p.parked[heldThere]
		s.Before, s.Gate, s.Waits = p.before, sm.gateText(p), p.stalled.Why
		s.LeftOut = min(p.left, s.Held) // a resume may free some
		if p.parked[unsubmitted] > 0 {
			s.Unsent = sm.unsent(p)
		}
		s.Late, s.Overdue = p.late[history.Late], p.late[history.Overdue]
		if s.Waiting > 0 {
			s.RetryAt = sm.lastRetry(p)
		}
		out[i] = s
	}
	sm.away(out)
	return out
}

// away counts the jobs of backends that cannot be asked as unknown.
func (sm *summary) away(out []progress.Phase) {
	unsent := map[*backends.Backend]map[*backends.Attempt]bool{}
	for _, b := range sm.backends.Queues {
		if b.Down != "" {
			unsent[b] = b.Unsent()
		}
	}
	if len(unsent) == 0 {
		return
	}
	for _, f := range sm.inOrder(func(f *attempt) bool { return f.p != nil && !f.smoke && unsent[f.B] != nil }) {
		if !unsent[f.B][&f.Attempt] && !f.NeedsMuster() && !f.HeldThere() {
			out[f.p.Ord].Lose(f.B.Title(), f.B.Since, f.Status)
		}
	}
}

// unsent says why the first of a phase's unsubmitted jobs waits, as its backend last said.
func (sm *summary) unsent(p *phase) string {
	var first *attempt
	for _, f := range sm.attempts {
		if f.p == p && f.parked == unsubmitted && (first == nil || f.cell < first.cell) {
			first = f
		}
	}
	switch {
	case first == nil:
		return ""
	case first.Unsent == "" && sm.st.Jobs[first.Key] != nil:
		return sm.st.Jobs[first.Key].Reason
	}
	return first.Unsent
}

// lastRetry is when the last of a phase's jobs that wait for their retry may start.
func (sm *summary) lastRetry(p *phase) (at time.Time) {
	for c, status := range p.At {
		if status != cells.Waiting {
			continue
		}
		if rec := sm.st.Jobs[p.Phase.Address(c)]; rec != nil && rec.Retry.After(at) {
			at = rec.Retry
		}
	}
	return at
}

// lateEvery is how long a count of late jobs is shown before it is taken again.
const lateEvery = 30 * time.Second

// countLate counts the running jobs that take longer than completed ones did.
func (sm *summary) countLate() {
	now := sm.Clock()
	if now.Sub(sm.lateAt) < lateEvery || clock.IsVirtual(sm.Time) {
		return
	}
	sm.lateAt = now
	paces := map[*phase]*history.Pace{}
	var fits fit.Budget
	for _, p := range sm.phases {
		p.late = nil
	}
	for _, f := range sm.attempts {
		rec := sm.st.Jobs[f.Key]
		if f.p == nil || f.smoke || f.Status != cells.Running || rec == nil || rec.Last() == nil {
			continue
		}
		if paces[f.p] == nil {
			paces[f.p], f.p.late = history.PaceOf(f.p.Phase, f.p.plan.RecordsIn(sm.st), sm.st.Definitions, &fits), map[history.Mark]int{}
		}
		if mark, _ := paces[f.p].Running(int(f.cell), rec.Last().Started, rec, now); mark != "" {
			f.p.late[mark]++
		}
	}
}

func (sm *summary) gateText(p *phase) string {
	switch {
	case sm.holds.All || sm.holds.Phases[p.Name]:
		return "hold"
	case p.allTripped():
		return "breaker"
	case p.Gate.Shut():
		return "smoke"
	case p.Gate.Piloting():
		return "pilot"
	}
	return ""
}
