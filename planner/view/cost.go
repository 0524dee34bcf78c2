package view

import (
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
)

// unitNames are the units of the cost table, in the order they are shown.
var unitNames = []struct{ unit, name string }{
	{"usd", "money"}, {"service_units", "service units"}, {"gpu_hours", "GPU-hours"}, {"cpu_hours", "CPU-hours"}, {"node_hours", "node-hours"},
}

// shownBudgets is how many budgets have a column of their own.
const shownBudgets = 2

func (h Human) cost(p *planner.Plan) string {
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right, term.Right, term.Right, term.Right, term.Right}, Gap: "   "}
	budgets := p.Budgets[:min(len(p.Budgets), shownBudgets)]
	head := []string{"", "expected", "p90", "at most"}
	for _, b := range budgets {
		head = append(head, `budget "`+b.Name+`"`)
	}
	t.Row(head...)
	for _, u := range unitNames {
		line, ok := lineOf(p.Forecast.Lines, u.unit)
		if !ok && !limited(budgets, u.unit) {
			continue
		}
		row := []string{u.name, figure(u.unit, line.Expected), figure(u.unit, line.P90), figure(u.unit, line.AtMost)}
		for _, b := range budgets {
			row = append(row, limit(u.unit, b.Limits[u.unit]))
		}
		t.Row(row...)
	}
	row := []string{"walltime", span(p.Forecast.Walltime.P50, p.Forecast.Walltime.Mark), span(p.Forecast.Walltime.P90, p.Forecast.Walltime.Mark), "–"}
	for _, b := range budgets {
		row = append(row, deadline(b.Deadline))
	}
	t.Row(row...)
	return t.String()
}

func lineOf(lines []forecast.Line, unit string) (forecast.Line, bool) {
	for _, l := range lines {
		if l.Unit == unit {
			return l, true
		}
	}
	zero := forecast.Figure{Text: "0"}
	return forecast.Line{Unit: unit, Expected: zero, P90: zero, AtMost: zero}, false
}

func limited(budgets []planner.BudgetCheck, unit string) bool {
	for _, b := range budgets {
		if b.Limits[unit] != "" {
			return true
		}
	}
	return false
}

// figure shows an amount with its mark: "469 *" is estimated, "unknown" is
// never a zero.
func figure(unit string, f forecast.Figure) string {
	switch {
	case f.Mark == forecast.Unknown:
		return "unknown"
	case f.Mark == forecast.Estimated:
		return quantity(unit, f.Text) + " *"
	}
	return quantity(unit, f.Text)
}

func limit(unit, text string) string {
	if text == "" {
		return "–"
	}
	return quantity(unit, text)
}

func span(d time.Duration, m forecast.Mark) string {
	if m == forecast.Unknown {
		return "unknown"
	}
	s := units.FormatDuration(d)
	if m == forecast.Estimated {
		s += "*"
	}
	return s
}

func deadline(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	layout := "2006-01-02"
	if !t.Equal(t.Truncate(24 * time.Hour)) {
		layout = "2006-01-02 15:04"
	}
	return "done by " + t.Format(layout)
}

// ganttWidth is the length of the time axis in columns, ganttRows how many
// phases get a row.
const (
	ganttWidth = 40
	ganttRows  = 12
)

func (h Human) gantt(p *planner.Plan) string {
	total := p.Forecast.Walltime.P50
	spans := p.Forecast.Phases
	if total <= 0 || len(spans) == 0 {
		return ""
	}
	name := 0
	for _, s := range spans {
		name = max(name, term.Width(s.Phase))
	}
	var b strings.Builder
	for i, s := range spans {
		if i == ganttRows {
			b.WriteString("  … and " + count(len(spans)-i) + " more phases\n")
			break
		}
		b.WriteString("  " + s.Phase + strings.Repeat(" ", name-term.Width(s.Phase)) + "  " + bar(s.Busy, total))
		if len(p.Forecast.Critical) > 1 && i == min(len(spans), ganttRows)/2 {
			b.WriteString("   critical path: " + strings.Join(p.Forecast.Critical, " → "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// eighths are the block elements from one eighth to seven.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar draws when a phase is busy. A start falls on the nearest column; an end
// is exact to an eighth of one; what is short is still seen.
func bar(busy []forecast.Interval, total time.Duration) string {
	scale := func(d time.Duration) int { return int(float64(d) / float64(total) * ganttWidth * 8) }
	cells := make([]string, ganttWidth)
	for _, iv := range busy {
		from, to := min((scale(iv.From)+4)/8, ganttWidth-1), min(scale(iv.To), ganttWidth*8)
		to = max(to, from*8+4)
		for c := from; c < ganttWidth && c*8 < to; c++ {
			if rest := to - c*8; rest >= 8 {
				cells[c] = "█"
			} else if cells[c] != "█" {
				cells[c] = eighths[rest]
			}
		}
	}
	for i, c := range cells {
		if c == "" {
			cells[i] = " "
		}
	}
	return "▕" + strings.Join(cells, "") + "▏"
}
