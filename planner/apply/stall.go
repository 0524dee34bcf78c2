package apply

import (
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/relaunch"
)

// tellStall tells of a stall that began in this turn.
func (e *engine) tellStall(p *phase, before brake.Stall) {
	if p.stalled.News(before) {
		e.report.Note("phase."+p.Name, "phase."+p.Name+" waits: "+p.stalled.Why, false)
	}
}

// stopped reports whether a person has to act before a phase starts anything.
func (e *engine) stopped(p *phase) bool {
	return p.breaker.Open || e.holds.All || e.holds.Phases[p.Name] || p.Gate.Failed
}

// retrying reports whether a retry will be made by this run.
func (e *engine) retrying() bool {
	return e.retries.Some(func(d relaunch.Due) bool {
		p := e.phases[d.Phase]
		return p.At[d.Cell] == cells.Waiting && !e.stopped(p)
	})
}
