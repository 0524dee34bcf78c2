package live

import (
	"fmt"
	"io"
	"strings"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/progress"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// bars draws a live bar for each phase: its name, counts, rate and time left,
// and the bar at the right edge. It follows the terminal when that is resized.
type bars struct {
	w     io.Writer
	style term.Style
	width int // columns drawn for
	name  int // columns of the longest phase name
	last  progress.Snapshot
	paces paces

	pw       pretty.Writer
	trackers map[string]*pretty.Tracker
	done     chan struct{} // the drawing has ended
}

// mostName bounds the column of names, and barEvery is how often is drawn.
const (
	mostName = 16
	barEvery = 120 * time.Millisecond
)

func newBars(w io.Writer, style term.Style, p *planner.Plan) *bars {
	b := &bars{w: w, style: style, paces: paces{}}
	for _, pp := range p.Phases {
		b.name = min(max(b.name, term.Width(pp.Phase.Name)), mostName)
		selected := 0
		for _, k := range pp.Kind {
			if k != planner.Skipped {
				selected++
			}
		}
		b.last.Phases = append(b.last.Phases, progress.Phase{Phase: pp.Phase.Name, Total: selected})
	}
	b.draw()
	return b
}

// draw begins to draw for the width that the terminal has now.
func (b *bars) draw() {
	b.width = term.Columns(b.w, b.style.Width)
	b.pw, b.trackers, b.done = pretty.NewWriter(), map[string]*pretty.Tracker{}, make(chan struct{})
	b.pw.SetOutputWriter(cleared{b.w})
	b.pw.SetAutoStop(false)
	b.pw.SetUpdateFrequency(barEvery)
	b.pw.SetTrackerPosition(pretty.PositionRight)
	b.pw.SetTrackerLength(b.bar())
	b.pw.SetMessageLength(b.message())
	b.pw.SetTerminalWidth(b.width - 1) // a line that fills the last column wraps on some terminals
	b.pw.SetStyle(barStyle(b.style, b.bar() > 0))
	for _, ph := range b.last.Phases {
		if ph.Done == ph.Total {
			continue // its last line is above, or none of it is selected
		}
		t := &pretty.Tracker{Message: b.text(ph), Total: int64(ph.Total)}
		t.SetValue(int64(ph.Done))
		b.trackers[ph.Phase] = t
		b.pw.AppendTracker(t)
	}
	pw, done := b.pw, b.done
	says(func(text string) { pw.Log("%s", b.style.Text(term.CleanLine(text))) })
	go func() { defer close(done); pw.Render() }()
}

// bar and message are the columns of the two halves of a line.
func (b *bars) bar() int {
	switch {
	case b.width < 50:
		return 0
	case b.width < term.MaxWidth:
		return 12
	}
	return 22
}

func (b *bars) message() int { return max(b.width-1-len("   ")-b.bar(), 20) }

func barStyle(s term.Style, bar bool) pretty.Style {
	style := pretty.StyleBlocks
	if !s.UTF8 {
		style = pretty.StyleDefault
	}
	style.Colors = pretty.StyleColors{}
	style.Options.Separator = "  "
	style.Options.DoneString = ""
	style.Options.ErrorString = "not done" // failed, or only left to run on
	style.Options.SnipIndicator = "~"
	style.Visibility = pretty.StyleVisibility{Tracker: bar, Pinned: true}
	return style
}

// text is "students  27 of 36, 2 running; 1.5/min, 6m left".
func (b *bars) text(p progress.Phase) string {
	name := term.Fit(p.Phase, b.name)
	counts := strings.Join(append([]string{fmt.Sprintf("%d of %d", p.Done, p.Total)}, phaseCounts(p)...), ", ")
	line := name + strings.Repeat(" ", max(0, b.name-term.Width(name))+2) + term.Join("; ", counts, b.paces[p.Phase].text(p, b.last))
	return b.style.Text(term.Fit(line, b.message()))
}

// goesOn begins the further lines of a long note.
const goesOn = "    "

func (b *bars) Event(state.Event) {}

func (b *bars) Show(p progress.Snapshot) {
	if p.Note != "" {
		note := term.Wrap(term.CleanLine(noteText(p)), b.width-len(goesOn))
		b.pw.Log("%s", b.style.Text(strings.Join(note, "\n"+goesOn)))
	}
	if p.Phases == nil {
		return
	}
	b.paces.see(p)
	b.last = p
	if term.Columns(b.w, b.style.Width) != b.width {
		b.Close()
		b.draw()
	}
	waits := ""
	if p.Waits != "" {
		waits = "waiting: " + term.CleanLine(p.Waits)
	}
	b.pw.SetPinnedMessages(waits)
	for _, ph := range p.Phases {
		t := b.trackers[ph.Phase]
		if t == nil {
			continue
		}
		t.UpdateTotal(int64(ph.Total))
		t.UpdateMessage(b.text(ph))
		t.SetValue(int64(ph.Done))
		if p.Final && ph.Done < ph.Total {
			t.MarkAsErrored()
		}
	}
}

func (b *bars) Close() {
	says(nil)
	b.pw.Stop()
	<-b.done
}

// cleared begins each drawing on an empty line: the terminal may have echoed a
// key into it, such as ^C.
type cleared struct{ io.Writer }

func (c cleared) Write(p []byte) (int, error) {
	const eraseLine = "\r\x1b[2K" // ECMA-48, EL
	n, err := Paint(c.Writer, append([]byte(eraseLine), p...))
	return max(0, n-len(eraseLine)), err
}
