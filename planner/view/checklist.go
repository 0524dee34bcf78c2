package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/checklist"
)

// Checklists prints the look before a submission: the ten points of every
// phase that goes to a scheduler, each passed or failed, and why.
func (h Human) Checklists(w io.Writer, lists []checklist.List) error {
	lw := &term.LineWriter{W: w}
	for _, l := range lists {
		h.section(lw, h.checklist(l))
	}
	return lw.Err
}

func (h Human) checklist(l checklist.List) string {
	var b strings.Builder
	b.WriteString(h.fit(fmt.Sprintf("# check list of phase.%s: %d of %d pass", l.Phase, l.Passed(), len(l.Points))))
	pass, fail := h.Style.Text("✓ pass"), h.Style.Text("✗ fail")
	marks, names := max(term.Width(pass), term.Width(fail)), 0
	for _, p := range l.Points {
		names = max(names, term.Width(p.Name))
	}
	for i, p := range l.Points {
		mark := pass
		if !p.Pass {
			mark = fail
		}
		row := fmt.Sprintf("  %2d  %-*s  %-*s  ", i+1, marks, mark, names, p.Name)
		for _, text := range term.Wrap(term.CleanLine(p.Why), h.head()-term.Width(row)) {
			b.WriteString(h.fit(row + text))
			row = strings.Repeat(" ", term.Width(row))
		}
	}
	return b.String()
}
