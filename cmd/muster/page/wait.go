package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
)

// Goals are the goals of `muster wait`.
var Goals = []string{"done", "failed", "idle"}

// An Ended says how a wait ended.
type Ended string

// Waits is no end. Done: every job is done. Failing: jobs failed, are held, blocked or
// cancelled. Left: nothing runs, and jobs wait for an apply.
const (
	Waits    Ended = ""
	Done     Ended = "done"
	Failing  Ended = "failed"
	Left     Ended = "left"
	TimedOut Ended = "timeout"
)

// A Waited is the JSON of `muster wait -json`.
type Waited struct {
	FormatVersion string         `json:"format_version"`
	Campaign      string         `json:"campaign"`
	For           string         `json:"for"`
	Ended         Ended          `json:"ended"`
	Jobs          int            `json:"jobs"` // selected
	Counts        map[string]int `json:"counts"`
	Seconds       float64        `json:"seconds"` // waited
	// Resumes are jobs in queues by the command that they wait for.
	Resumes map[string]int `json:"resumes,omitempty"`

	active int
}

// WaitedFor judges the status of the selected jobs for a wait for a goal; driven says
// that another muster holds the state and may start more.
func WaitedFor(s Status, goal string, driven bool) Waited {
	w := Waited{FormatVersion: FormatVersion, Campaign: s.Campaign, For: goal, Counts: map[string]int{}, active: s.Active, Resumes: s.resumes}
	for _, p := range s.Phases {
		w.Jobs += p.Jobs
		for status, n := range p.Counts {
			w.Counts[status] += n
		}
	}
	w.Ended = w.ended(driven)
	return w
}

func (w *Waited) ended(driven bool) Ended {
	failing := w.failing() > 0
	switch {
	case w.Counts[string(state.Completed)] == w.Jobs:
		return Done
	case failing && w.For == "failed":
		return Failing
	case w.active > 0 || driven:
		return Waits
	case failing:
		return Failing
	}
	return Left
}

func (w *Waited) failing() (n int) {
	for _, s := range []string{string(state.Failed), string(state.Held), blocked, string(state.Cancelled)} {
		n += w.Counts[s]
	}
	return n
}

// Line is "3 of 24 done, 2 running, 19 pending".
func (w *Waited) Line() string {
	parts := []string{fmt.Sprintf("%d of %d done", w.Counts[string(state.Completed)], w.Jobs)}
	for _, s := range Statuses[1:] {
		if n := w.Counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// Text is the last word of a wait, with what to do next.
func (w *Waited) Text() string {
	left := w.Jobs - w.Counts[string(state.Completed)]
	switch w.Ended {
	case Done:
		return fmt.Sprintf("Done: %s.", w.Line())
	case Failing:
		return fmt.Sprintf("Failed: %s.%s See them: muster status", w.Line(), resumeText(w.Resumes))
	case TimedOut:
		return fmt.Sprintf("Time is up: %s. Nothing was stopped.", w.Line())
	case Left:
		if len(w.Resumes) > 0 {
			return fmt.Sprintf("Idle: %s.%s", w.Line(), resumeText(w.Resumes))
		}
		return fmt.Sprintf("Idle: %s. Nothing runs; muster apply starts %s.", w.Line(), units.Count(left, "job"))
	}
	return w.Line()
}

// resumeText is " 4 jobs wait in a queue for `muster resume phase.a`, then `muster apply`.", a
// sentence for each command.
func resumeText(resumes map[string]int) (text string) {
	for _, command := range slices.Sorted(maps.Keys(resumes)) {
		text += " " + resumeStep(command, resumes[command]) + "."
	}
	return text
}

func resumeStep(command string, n int) string {
	return fmt.Sprintf("%s in a queue for %s, then `muster apply`", map[bool]string{true: "1 job waits", false: units.Count(n, "job") + " wait"}[n == 1], command)
}
