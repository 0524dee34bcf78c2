package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
)

const (
	every      = 100 * time.Millisecond // between two reports
	slowNotice = 400 * time.Millisecond // after this a wait is announced
	seldom     = time.Minute            // a report although nothing changed: silence looks like death
)

// A Source is the run that a Reporter reports on.
type Source interface {
	Phases() []Phase
	Unsynced() bool // events wait to be durable
}

// A Reporter shows the progress of a run, at most every tenth of a second, and
// notes at once. It shows nothing before the state holds it durably: a job shown
// as done is done after a crash, too.
type Reporter struct {
	Show func(Snapshot) // nil: nobody looks on
	Time clock.Clock
	From Source

	untold  []func() // until they are
	alike   map[[2]string]*alike
	started time.Time
	shown   Snapshot // the last that was durable
	last    time.Time
	late    bool // something changed since the last report
}

// Begin notes that the run starts now.
func (t *Reporter) Begin() { t.started = t.Time.Now() }

// Tell tells now or, while events wait to be durable, with them.
func (t *Reporter) Tell(f func()) {
	if t.From.Unsynced() {
		t.untold = append(t.untold, f)
		return
	}
	f()
}

// Durable reports the events that waited for the state. Events that a failed
// store does not hold are never reported.
func (t *Reporter) Durable() {
	told := t.untold
	t.untold = nil
	for _, f := range told {
		f()
	}
}

// Tick reports when it is time. While events wait to be durable it is not: the
// loop turns when they are.
func (t *Reporter) Tick() {
	if t.Show == nil || t.From.Unsynced() {
		return
	}
	now := t.Time.Now()
	if clock.IsVirtual(t.Time) { // whoever looks on lives by the wall clock
		if now = time.Now(); now.Sub(t.last) < every {
			return
		}
	}
	if t.late = now.Sub(t.last) < every; t.late {
		return
	}
	t.last, t.shown = now, t.snapshot()
	t.Show(t.shown)
}

// Next is when the next report is due: of a tick that came too early, or of nothing new.
func (t *Reporter) Next() time.Time {
	switch {
	case t.late:
		return t.last.Add(every)
	case t.Show == nil || t.last.IsZero() || clock.IsVirtual(t.Time):
		return time.Time{}
	}
	return t.last.Add(seldom)
}

// Note reports a line worth printing.
func (t *Reporter) Note(address, text string, bad bool) {
	if t.Show == nil {
		return
	}
	// Wherever the note is shown, the address comes before it, unless the
	// note has it.
	if rest, ok := strings.CutPrefix(text, address); ok && address != "" && !strings.HasPrefix(rest, "[") && !strings.Contains(rest, address) {
		text = strings.TrimLeft(rest, ": ")
	}
	r := Snapshot{At: t.Time.Now(), Started: t.started, Address: address, Note: text, Bad: bad}
	t.Tell(func() { t.Show(r) })
}

// alike are jobs of a phase that share one line.
type alike struct {
	first string
	n     int
}

// NoteHeld reports that a job of a phase is held. Those that are held for the
// same reason in one go are one line, as when a whole array is refused.
func (t *Reporter) NoteHeld(phase, address, why string) {
	key := [2]string{phase, why}
	if a := t.alike[key]; a != nil {
		a.n++
		return
	}
	if t.alike == nil {
		t.alike = map[[2]string]*alike{}
	}
	a := &alike{address, 1}
	t.alike[key] = a
	t.Tell(func() {
		delete(t.alike, key)
		if a.n == 1 {
			t.Note(address, address+" is held: "+why, true)
		} else {
			t.Note(phase, fmt.Sprintf("%s and %d more are held: %s", address, a.n-1, why), true)
		}
	})
}

// Final reports how the run ended: where a store failed, as it last was there.
func (t *Reporter) Final() {
	if t.Show == nil {
		return
	}
	r := t.shown
	if !t.From.Unsynced() {
		r = t.snapshot()
	}
	r.Final = true
	t.Show(r)
}

// Slow announces a wait that lasts; the returned function ends it.
func (t *Reporter) Slow(what string) func() {
	if t.Show == nil {
		return func() {}
	}
	note := Snapshot{Started: t.started, Waits: what, Note: what}
	timer := time.AfterFunc(slowNotice, func() { t.Show(note) })
	return func() { timer.Stop() }
}

func (t *Reporter) snapshot() Snapshot {
	return Snapshot{At: t.Time.Now(), Started: t.started, Phases: t.From.Phases()}
}
