package view

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	money "github.com/muster-run/muster/planner/amount"
)

// loose shows rows about jobs that are not wanted any more and about rented
// resources.
func (h Human) loose(p *planner.Plan) string {
	var lines []line
	seen := map[string]int{}
	for _, r := range p.Loose {
		l := looseLine(r)
		if seen[l.label]++; seen[l.label] > linesPerPhase && !h.Verbose {
			continue
		}
		lines = append(lines, l)
	}
	out := h.layout(lines)
	for _, l := range []string{"- cancel", "- forget", "- release", "? orphan"} {
		if n := seen[l]; n > linesPerPhase && !h.Verbose {
			out += fmt.Sprintf("  %s  %d more; -verbose shows every one\n", l, n-linesPerPhase)
		}
	}
	return out
}

func looseLine(r planner.Row) line {
	l := line{label: symbols[r.Kind], shape: term.CleanLine(r.Address), note: reason(r.Detail)}
	switch {
	case r.Release:
		l.label = "- release"
	case r.PerHour != "" && r.Kind == planner.Move:
		l.label = "→ replace"
	case r.PerHour != "" && !r.Away:
		l.label = "? orphan"
	case r.Kind == planner.Forget:
		l.note = strings.TrimPrefix(l.note+"; files stay", "; ")
	}
	if r.PerHour != "" {
		l.note = strings.TrimPrefix(l.note+"; "+money.Hourly(r.PerHour), "; ")
	}
	return l
}

// everyJob is one line a job, for -verbose.
func (h Human) everyJob(p *planner.Plan) string {
	var b strings.Builder
	for _, pp := range p.Phases {
		for i, kind := range pp.Kind {
			fmt.Fprintf(&b, "  %-14s %s", strings.TrimSpace(symbols[kind]), term.CleanLine(pp.Phase.Address(i)))
			if d := pp.Decision(i); kind.Starts() && d.Backend != "" {
				fmt.Fprintf(&b, "  on %s", strings.TrimSuffix(d.Backend+", "+d.Pool, ", "))
			}
			if text := reason(pp.Detail(i)); text != "" && kind != planner.None {
				b.WriteString("  (" + text + ")")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
