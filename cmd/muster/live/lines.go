package live

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// cadence is how far apart plain lines stand: the longer it takes, the less
// there is to say.
var cadence = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}

// silence is how long nothing is printed while nothing changes. The engine reports at
// least every minute, so that a log has a line every ten minutes.
const silence = 9 * time.Minute

// lines prints one line a phase that has moved since the last time, and of each open
// phase after a silence.
type lines struct {
	w     io.Writer
	style term.Style
	next  time.Time
	last  time.Time // of a line
	step  int
	said  map[string]string // by phase
	paces paces
}

func (l *lines) Event(state.Event) {}

func (l *lines) Close() {}

func (l *lines) Show(p progress.Snapshot) {
	l.paces.see(p)
	if p.Note != "" {
		l.print(p.At, noteText(p))
	}
	silent := !l.last.IsZero() && p.At.Sub(l.last) >= silence
	if p.Phases == nil && p.Waits == "" || p.Note != "" && p.Note == p.Waits || p.At.Before(l.next) && !p.Final && !silent {
		return
	}
	for _, ph := range p.Phases {
		text := phaseText(ph, l.paces[ph.Phase].text(ph, p))
		if text == l.said[ph.Phase] && !(silent && ph.Done < ph.Total) || idle(ph) && !p.Final || ph.Before == ph.Total {
			continue
		}
		l.said[ph.Phase] = text
		l.print(p.At, text)
	}
	if p.Waits != "" {
		l.print(p.At, "waiting: "+p.Waits)
	}
	l.next = p.At.Add(cadence[l.step])
	l.step = min(l.step+1, len(cadence)-1)
}

func (l *lines) print(at time.Time, s string) {
	l.last = at
	fmt.Fprintln(l.w, l.style.Text(term.CleanLine(s)))
}

// idle reports whether a phase has not begun, so that it is not news.
func idle(p progress.Phase) bool {
	return p.Running+p.Queued+p.Unsubmitted+p.HeldThere+p.Verifying+p.Unknown+p.Waiting+p.Failed+p.Held+p.Smoke == 0 && p.Done == p.Before
}

func noteText(p progress.Snapshot) string {
	if p.Address == "" || strings.Contains(p.Note, p.Address) {
		return p.Note
	}
	return p.Address + ": " + p.Note
}

// phaseText is "phase.students: 3 of 24 done, 2 running; 1.5/min, 14m left".
func phaseText(p progress.Phase, pace string) string {
	parts := append([]string{fmt.Sprintf("%d of %d done", p.Done, p.Total)}, phaseCounts(p)...)
	waits := p.Waits
	if waits != "" {
		waits = "waits: " + waits
	}
	for _, a := range p.Away {
		waits = term.Join("; ", waits, a.Text())
	}
	return "phase." + p.Phase + ": " + term.Join("; ", strings.Join(parts, ", "), pace, waits)
}

func phaseCounts(p progress.Phase) []string {
	var parts []string
	unsent := "not submitted yet"
	if p.Unsent != "" {
		unsent += " (" + term.CleanLine(p.Unsent) + ")"
	}
	for _, c := range []struct {
		n    int
		word string
	}{{p.Running, "running"}, {p.Late, "late"}, {p.Overdue, "overdue"}, {p.Verifying, "verifying"}, {p.Queued, "queued"}, {p.HeldThere, "held in the queue"}, {p.Unsubmitted, unsent}, {p.Unknown, "unknown"}, {p.Smoke, "in the smoke"}, {p.Waiting, "waiting to retry"}, {p.Failed, "failed"}, {p.Held - p.LeftOut, "held"}, {p.LeftOut, "waiting for a backend"}, {p.Blocked, "blocked"}, {p.Cancelled, "cancelled"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return parts
}
