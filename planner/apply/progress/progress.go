// Package progress holds the progress and the outcome of a run, for display.
package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/cells"
)

// A Snapshot is the progress of a run at one moment.
type Snapshot struct {
	At      time.Time
	Started time.Time
	Phases  []Phase
	Note    string // a line worth printing now, "" if none
	Address string // the subject of the note
	Bad     bool   // the note is about something that went wrong
	Waits   string // the run waits for this, when it does not wait for jobs
	Final   bool
}

// A Phase counts the jobs of one.
type Phase struct {
	Phase     string
	Total     int // selected jobs
	Done      int // completed, before or now
	Before    int // of these, completed before this run
	Running   int
	Queued    int // in a queue, and start by themselves
	Verifying int
	Unknown   int       // their backend cannot be asked
	Away      []Away    // when each last answered
	Waiting   int       // wait to be retried
	RetryAt   time.Time // when the last of these may start; zero where none waits for a time
	Pending   int
	Failed    int
	Held      int
	LeftOut   int // of these, left out by the plan: their backend cannot be asked
	Blocked   int
	Cancelled int
	Late      int // of those running: longer than twice the time of completed jobs
	Overdue   int // longer than three times
	// Unsubmitted jobs were given to a backend whose scheduler does not have them,
	// or has not answered yet; HeldThere are in its queue, held there.
	Unsubmitted, HeldThere int
	Unsent                 string // why the first of the unsubmitted jobs waits, as its backend last said
	Smoke                  int    // smokes in flight
	Gate                   string // the phase waits for this: "smoke", "pilot", "breaker", "hold", ""
	Waits                  string // which ceiling keeps it from starting more, in words; "" for none
}

// An Away counts jobs of a backend that cannot be asked, as it last said.
type Away struct {
	Backend    string    `json:"backend"`
	Since      time.Time `json:"since"`
	Running    int       `json:"running"`
	Queued     int       `json:"queued"`
	Submitting int       `json:"submitting"` // whether they arrived is not known
}

// Text says since when a backend cannot be asked, and what its jobs did then.
func (a Away) Text() string {
	var were []string
	for _, c := range []struct {
		n    int
		what string
	}{{a.Running, "running"}, {a.Queued, "queued"}, {a.Submitting, "being submitted"}} {
		if c.n > 0 {
			were = append(were, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	text := a.Backend + " cannot be reached since " + units.FormatSecond(a.Since.Local())
	if len(were) > 0 {
		text += ", with " + strings.Join(were, ", ")
	}
	return text
}

// Lose counts a job of a backend that cannot be asked as unknown.
func (p *Phase) Lose(backend string, since time.Time, was cells.Status) {
	i := slices.IndexFunc(p.Away, func(a Away) bool { return a.Backend == backend })
	if i < 0 {
		i = len(p.Away)
		p.Away = append(p.Away, Away{Backend: backend, Since: since})
	}
	move := func(from, to *int) { *from, *to, p.Unknown = *from-1, *to+1, p.Unknown+1 }
	switch a := &p.Away[i]; was {
	case cells.Running:
		move(&p.Running, &a.Running)
	case cells.Verifying:
		move(&p.Verifying, &a.Running)
	case cells.Queued:
		move(&p.Queued, &a.Queued)
	case cells.Submitting:
		move(&p.Unsubmitted, &a.Submitting)
	}
	p.Late, p.Overdue = min(p.Late, p.Running), min(p.Overdue, p.Running)
}

// Of counts the jobs of a phase, of which some are blocked.
func Of(name string, n *cells.Vertex, blocked int) Phase {
	c := &n.Counts
	return Phase{
		Phase: name, Total: len(n.At) - c[cells.Skipped] - c[cells.SkippedDone], Done: c[cells.Done],
		Running: c[cells.Running], Queued: c[cells.Queued], Unsubmitted: c[cells.Submitting], Unknown: c[cells.Unknown], Verifying: c[cells.Verifying], Waiting: c[cells.Waiting],
		Pending: c[cells.Pending] + c[cells.Ready] + c[cells.Checking] - blocked, Failed: c[cells.Failed], Held: c[cells.Held] + c[cells.Changed], Blocked: blocked,
		Cancelled: c[cells.Cancelled] + c[cells.Ending], Smoke: n.Gate.InFlight(),
	}
}
