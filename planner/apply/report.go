package apply

import (
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/cells"
)

const reportEvery = 100 * time.Millisecond

// A reporter tells a watcher of the run how it stands, never more often than
// every reportEvery but for notes. Nothing is told before the state holds it
// durably: what was shown as done is done after a crash, too.
type reporter struct {
	untold  []func() // until then
	started time.Time
	last    time.Time
	late    bool // something changed since the last report
	waits   string
}

func (r *reporter) begin(e *engine) { r.started = e.Clock() }

// tell tells now or, while events wait to be durable, with them.
func (r *reporter) tell(e *engine, f func()) {
	if e.unsynced.IsZero() {
		f()
		return
	}
	r.untold = append(r.untold, f)
}

// durable tells what waited for the state. What a store that failed does not
// hold is never told.
func (r *reporter) durable() {
	told := r.untold
	r.untold = nil
	for _, f := range told {
		f()
	}
}

// tick reports when it is time. While events wait to be durable it is not: the
// loop turns when they are, at most syncAtLeast later.
func (r *reporter) tick(e *engine) {
	if e.Progress == nil || !e.unsynced.IsZero() {
		return
	}
	now := e.Clock()
	if clock.IsVirtual(e.Time) { // whoever looks on lives by the wall clock
		if now = time.Now(); now.Sub(r.last) < reportEvery {
			return
		}
	}
	if r.late = now.Sub(r.last) < reportEvery; r.late {
		return
	}
	r.last = now
	e.Progress(r.snapshot(e))
}

// next is when a tick that came too early is made up for.
func (r *reporter) next() time.Time {
	if !r.late {
		return time.Time{}
	}
	return r.last.Add(reportEvery)
}

// note reports a line worth printing.
func (r *reporter) note(e *engine, address, text string, bad bool) {
	if e.Progress == nil {
		return
	}
	// The address stands in front of the note wherever it is shown, unless the
	// note has it.
	if rest, ok := strings.CutPrefix(text, address); ok && address != "" && !strings.Contains(rest, address) {
		text = strings.TrimLeft(rest, ": ")
	}
	p := Progress{At: e.Clock(), Started: r.started, Address: address, Note: text, Bad: bad, Waits: r.waits}
	r.tell(e, func() { e.Progress(p) })
}

func (r *reporter) final(e *engine) {
	if e.Progress == nil {
		return
	}
	p := r.snapshot(e)
	p.Final = true
	e.Progress(p)
}

// slow announces a wait that lasts; the returned function ends it.
func (r *reporter) slow(e *engine, what string) func() {
	if e.Progress == nil {
		return func() {}
	}
	note := Progress{Started: r.started, Waits: what, Note: what}
	t := time.AfterFunc(slowNotice, func() { e.Progress(note) })
	return func() { t.Stop() }
}

func (r *reporter) snapshot(e *engine) Progress {
	p := Progress{At: e.Clock(), Started: r.started, Waits: r.waits, Phases: make([]PhaseProgress, 0, len(e.phases))}
	blocked := cells.Blocked(e.nodes)
	for i, ph := range e.phases {
		c := &ph.Counts
		pp := PhaseProgress{
			Phase: ph.Name, Total: len(ph.At) - c[cells.Skipped] - c[cells.SkippedDone], Done: c[cells.Done], Before: ph.before,
			Running: c[cells.Running], Queued: c[cells.Queued] + c[cells.Submitting] + c[cells.Unknown], Verifying: c[cells.Verifying], Waiting: c[cells.Waiting],
			Pending: c[cells.Pending] + c[cells.Ready] - blocked[i], Failed: c[cells.Failed], Held: c[cells.Held], Blocked: blocked[i],
			Cancelled: c[cells.Cancelled] + c[cells.Ending], Smoke: ph.Gate.Flying(), Gate: e.gateText(ph), Waits: ph.stalled.why,
		}
		p.Phases = append(p.Phases, pp)
	}
	return p
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
