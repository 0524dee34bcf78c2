package apply

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
)

// A stall is why a phase that could start something starts nothing now: a
// ceiling, not a slot that is taken. It is told once, when it begins.
type stall struct {
	cause stallCause
	why   string // in words
}

type stallCause uint8

const (
	noStall stallCause = iota
	byRate
	byBudget
	byRoom
)

// stalls notes why a phase starts nothing in this turn; the first reason
// stands.
func (p *phase) stalls(cause stallCause, why string) {
	if p.stalled.cause == noStall {
		p.stalled = stall{cause, why}
	}
}

// tellStall tells of a stall that began in this turn.
func (e *engine) tellStall(p *phase, before stall) {
	if p.stalled.cause == noStall || p.stalled.cause == before.cause || p.stalled.cause == byRoom { // a full volume is told once for all phases
		return
	}
	e.report.Note("phase."+p.Name, "phase."+p.Name+" waits: "+p.stalled.why, false)
}

// rateText says which ceiling on launches a phase has reached, and until when.
func (e *engine) rateText(p *phase, until time.Time) string {
	return fmt.Sprintf("it had as many launches as it may have in a minute; the next one is in %s", max(until.Sub(e.Clock()), time.Second).Round(time.Second))
}

// stopped reports whether a person has to act before a phase starts anything.
func (e *engine) stopped(p *phase) bool {
	return p.breaker.Open || e.holds.All || e.holds.Phases[p.Name] || p.Gate.Failed
}

// retrying reports whether a retry will be made by this run.
func (e *engine) retrying() bool {
	for i := range e.retries {
		if r := &e.retries[i]; r.p.At[r.cell] == cells.Waiting && !e.stopped(r.p) {
			return true
		}
	}
	return false
}
