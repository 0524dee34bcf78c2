// Package live shows the progress of a run: bars on a terminal, lines in a
// pipe, events for machines.
package live

import (
	"io"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// A Sink shows what a run does: a bar per phase on a terminal, plain lines at
// a growing interval in a pipe, or events for machines.
type Sink interface {
	Show(progress.Snapshot)
	Event(state.Event)
	Close()
}

// ForPeople draws bars on a terminal, and else writes lines; first reports
// whether a wait is news to them.
func ForPeople(w io.Writer, style term.Style, p *planner.Plan, first func(what string) bool) Sink {
	if p.Destroy {
		return &repeats{Sink: onceWaits{&endings{w: w, style: style, cancel: p.Counts.Cancel}, first}}
	}
	if style.TTY {
		return &repeats{Sink: onceWaits{newBars(w, style, p), first}}
	}
	return &repeats{Sink: onceWaits{&lines{w: w, style: style, said: map[string]string{}, paces: paces{}}, first}}
}

// onceWaits is a sink for people that leaves out waits which the plan before
// the run has shown.
type onceWaits struct {
	Sink
	first func(what string) bool
}

func (o onceWaits) Show(p progress.Snapshot) {
	if p.Phases != nil || p.Note == "" || p.Note != p.Waits || o.first(p.Note) {
		o.Sink.Show(p)
	}
}
