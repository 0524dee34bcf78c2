package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/state"
)

// A sink shows what a run does: a bar per phase on a terminal, plain lines at
// a growing interval in a pipe, or events for machines.
type sink interface {
	show(apply.Progress)
	event(state.Event)
	close()
}

func (a *app) progress(p *planner.Plan, asJSON bool) sink {
	switch {
	case asJSON:
		return a.stream()
	case a.err.TTY:
		return newBars(a.stderr, a.err, p)
	}
	return &lines{w: a.stderr, style: a.err}
}

// cadence is how far apart plain lines stand: the longer it takes, the less
// there is to say.
var cadence = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}

// lines prints one line a phase that has moved since the last time.
type lines struct {
	w     io.Writer
	style term.Style
	next  time.Time
	step  int
	said  map[string]string
}

func (l *lines) event(state.Event) {}
func (l *lines) close()            {}

func (l *lines) show(p apply.Progress) {
	if p.Note != "" {
		l.print(noteText(p))
	}
	if p.At.Before(l.next) && !p.Final {
		return
	}
	if l.said == nil {
		l.said = map[string]string{}
	}
	for _, ph := range p.Phases {
		text := phaseText(ph, p)
		if text == l.said[ph.Phase] || idle(ph) && !p.Final {
			continue
		}
		l.said[ph.Phase] = text
		l.print(text)
	}
	if p.Waits != "" {
		l.print("waiting: " + p.Waits)
	}
	l.next = p.At.Add(cadence[l.step])
	l.step = min(l.step+1, len(cadence)-1)
}

func (l *lines) print(s string) { fmt.Fprintln(l.w, l.style.Text(term.CleanLine(s))) }

// idle reports whether a phase has not begun, so that it is not news.
func idle(p apply.PhaseProgress) bool {
	return p.Running+p.Queued+p.Verifying+p.Waiting+p.Failed+p.Held+p.Smoke == 0 && p.Done == p.Before
}

func noteText(p apply.Progress) string {
	if p.Address == "" || strings.Contains(p.Note, p.Address) {
		return p.Note
	}
	return p.Address + ": " + p.Note
}

// phaseText is "phase.students: 3 of 24 done, 2 running".
func phaseText(p apply.PhaseProgress, at apply.Progress) string {
	parts := []string{fmt.Sprintf("%d of %d done", p.Done, p.Total)}
	parts = append(parts, phaseCounts(p)...)
	if left := timeLeft(p, at); left != "" {
		parts = append(parts, left)
	}
	return "phase." + p.Phase + ": " + strings.Join(parts, ", ")
}

func phaseCounts(p apply.PhaseProgress) []string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{p.Running, "running"}, {p.Verifying, "verifying"}, {p.Queued, "queued"}, {p.Smoke, "in the smoke"}, {p.Waiting, "waiting to retry"}, {p.Failed, "failed"}, {p.Held, "held"}, {p.Blocked, "blocked"}, {p.Cancelled, "cancelled"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return parts
}

// timeLeft extrapolates the rate of this run, once there is one to speak of.
func timeLeft(p apply.PhaseProgress, at apply.Progress) string {
	done, elapsed := p.Done-p.Before, at.At.Sub(at.Started)
	if done < 2 || elapsed < 2*time.Second || p.Done == p.Total {
		return ""
	}
	left := time.Duration(float64(elapsed) / float64(done) * float64(p.Total-p.Done))
	return fmt.Sprintf("%.3g/s, about %s left", float64(done)/elapsed.Seconds(), units.FormatDuration(left.Round(time.Second)))
}

// bars draws a live bar for each phase.
type bars struct {
	pw       progress.Writer
	name     int // columns of the longest phase name, at most 16
	trackers map[string]*progress.Tracker
	done     chan struct{}
}

func newBars(w io.Writer, style term.Style, p *planner.Plan) *bars {
	pw := progress.NewWriter()
	pw.SetOutputWriter(w)
	pw.SetAutoStop(false)
	pw.SetUpdateFrequency(120 * time.Millisecond)
	pw.SetTrackerLength(22)
	pw.SetTrackerPosition(progress.PositionRight)
	pw.SetMessageLength(messageWidth)
	pw.SetStyle(barStyle(style))
	b := &bars{pw: pw, name: nameWidth(p), trackers: map[string]*progress.Tracker{}, done: make(chan struct{})}
	for _, pp := range p.Phases {
		t := &progress.Tracker{Message: b.message(apply.PhaseProgress{Phase: pp.Phase.Name, Total: len(pp.Kind)}), Total: int64(len(pp.Kind)), Units: progress.UnitsDefault}
		b.trackers[pp.Phase.Name] = t
		pw.AppendTracker(t)
	}
	go func() { defer close(b.done); pw.Render() }()
	return b
}

// messageWidth leaves room for the bar, the rate and the time left in 100
// columns.
const messageWidth = 46

func barStyle(s term.Style) progress.Style {
	style := progress.StyleBlocks
	if !s.UTF8 {
		style = progress.StyleDefault
	}
	style.Colors = progress.StyleColors{}
	style.Options.Separator = "  "
	style.Options.DoneString = ""
	style.Options.ErrorString = "not done" // failed, or only left to run on
	style.Visibility = progress.StyleVisibility{ETA: true, Speed: true, Time: true, Tracker: true}
	style.Options.ETAString = "left"
	style.Options.SpeedPrecision = time.Second
	style.Options.TimeInProgressPrecision = time.Second
	return style
}

func nameWidth(p *planner.Plan) int {
	n := 0
	for _, pp := range p.Phases {
		n = max(n, term.Width(pp.Phase.Name))
	}
	return min(n, 16)
}

// message is "students  27 of 36, 2 running".
func (b *bars) message(p apply.PhaseProgress) string {
	name := term.Fit(p.Phase, b.name)
	text := name + strings.Repeat(" ", max(0, b.name-term.Width(name))+2) + fmt.Sprintf("%d of %d", p.Done, p.Total)
	for _, c := range phaseCounts(p) {
		text += ", " + c
	}
	return term.Fit(text, messageWidth-1)
}

func (b *bars) event(state.Event) {}

func (b *bars) show(p apply.Progress) {
	if p.Note != "" {
		b.pw.Log("%s", term.CleanLine(noteText(p)))
	}
	for _, ph := range p.Phases {
		t := b.trackers[ph.Phase]
		if t == nil {
			continue
		}
		t.UpdateTotal(int64(ph.Total))
		t.SetValue(int64(ph.Done))
		t.UpdateMessage(b.message(ph))
		if p.Final && ph.Done < ph.Total {
			t.MarkAsErrored()
		}
	}
}

func (b *bars) close() {
	b.pw.Stop()
	<-b.done
}
