package apply

import (
	"strings"
	"time"
)

const reportEvery = 100 * time.Millisecond

// A reporter tells a watcher of the run how it stands, never more often than
// every reportEvery but for notes.
type reporter struct {
	started time.Time
	last    time.Time
	late    bool // something changed since the last report
	waits   string
}

func (r *reporter) begin(e *engine) { r.started = e.Clock() }

// tick reports when it is time.
func (r *reporter) tick(e *engine) {
	if e.Progress == nil {
		return
	}
	now := e.Clock()
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
	// The address stands in front of the note wherever it is shown.
	if rest, ok := strings.CutPrefix(text, address); ok && address != "" {
		text = strings.TrimLeft(rest, ": ")
	}
	p := Progress{At: e.Clock(), Started: r.started, Address: address, Note: text, Bad: bad, Waits: r.waits}
	e.Progress(p)
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
	blocked := e.blocked()
	for i, ph := range e.phases {
		c := &ph.counts
		pp := PhaseProgress{
			Phase: ph.Name, Total: len(ph.at) - c[skipped] - c[skippedDone], Done: c[done], Before: ph.before,
			Running: c[running], Queued: c[queued] + c[submitting] + c[unknown], Verifying: c[verifying], Waiting: c[waiting],
			Pending: c[pending] + c[ready] - blocked[i], Failed: c[failed], Held: c[held], Blocked: blocked[i],
			Cancelled: c[cancelled] + c[ending], Smoke: ph.gate.flying(), Gate: e.gateText(ph),
		}
		p.Phases = append(p.Phases, pp)
	}
	return p
}

func (e *engine) gateText(p *phase) string {
	switch {
	case e.holds.all || e.holds.phase[p.Name]:
		return "hold"
	case p.breaker.open:
		return "breaker"
	case p.gate.shut():
		return "smoke"
	case p.gate.piloting():
		return "pilot"
	}
	return ""
}

func (e *engine) notify(kind, address, text string) {
	if e.Notify != nil {
		e.Notify(Notice{Kind: kind, Address: address, Text: text, At: e.Clock()})
	}
}
