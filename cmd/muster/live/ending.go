package live

import (
	"fmt"
	"io"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// endings shows a destroy. Its jobs count towards no total, so that there is no percentage. It
// prints the number of cancelled jobs once, and then the errors.
type endings struct {
	w      io.Writer
	style  term.Style
	cancel int // jobs; 0 = none, or it was said
}

func (e *endings) Event(state.Event) {}

func (e *endings) Close() {}

func (e *endings) Show(p progress.Snapshot) {
	switch {
	case e.cancel == 1:
		e.print("cancelling 1 job")
	case e.cancel > 0:
		e.print(fmt.Sprintf("cancelling %d jobs", e.cancel))
	}
	e.cancel = 0
	if p.Note != "" {
		e.print(noteText(p))
	}
}

func (e *endings) print(s string) { fmt.Fprintln(e.w, e.style.Text(term.CleanLine(s))) }
