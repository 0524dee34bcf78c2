package view

import (
	"fmt"
	"math"
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

// The least widths of the columns expected, p90 and at most, so that plans of
// one campaign look alike from day to day.
var costWidths = [3]int{8, 8, 9}

// limitWidth is the least width in which a budget's limits end.
const limitWidth = 7

// hasForecast reports whether the plan has figures to show: something runs or
// waits, and it takes time or costs.
func hasForecast(p *planner.Plan) bool {
	c := p.Counts
	runs := c.Run + c.Retry + c.Rerun + c.Smoke + c.Resubmit + c.Continue + c.Adopt + c.Unknown
	return c.Changes() && runs > 0 && !p.RefreshOnly && !p.Destroy
}

// cost is the table of the plan's cost, beside the rest of the budgets.
func (h Human) cost(p *planner.Plan) string {
	return h.costOf(p, min(len(p.Budgets), shownBudgets))
}

// costOf is the table with the limits of so many budgets, or of as many as
// the screen has room for.
func (h Human) costOf(p *planner.Plan, beside int) string {
	budgets := p.Budgets[:beside]
	names, figures := []string{""}, [][3]string{{"expected", "p90", "at most"}}
	bounds := make([][]string, len(budgets))
	for _, u := range unitNames {
		line, ok := tableLine(p, budgets, u.unit)
		if !ok {
			continue
		}
		name := u.name
		if other := p.Forecast.Unpacked; u.unit == other.Unit {
			name += " (" + strings.TrimSuffix(quantity(u.unit, other.P90.Text), ".0") + " unpacked)"
		}
		names = append(names, name)
		figures = append(figures, [3]string{figure(u.unit, line.Expected), figure(u.unit, line.P90), figure(u.unit, line.AtMost)})
		for i, b := range budgets {
			bounds[i] = append(bounds[i], limit(u.unit, b.Limits[u.unit]))
		}
	}
	w := p.Forecast.Walltime
	names = append(names, "walltime")
	figures = append(figures, [3]string{span(w.P50, w.Mark), span(w.P90, w.Mark), "–"})

	t := term.Table{Indent: "  ", Gap: "   ", Align: []term.Align{term.Left, term.Right, term.Right, term.Right}}
	for i, name := range names {
		row := []string{name}
		for k, text := range figures[i] {
			row = append(row, strings.Repeat(" ", max(0, costWidths[k]-term.Width(text)))+text)
		}
		for k, b := range budgets {
			row = append(row, " "+budgetColumn(b, bounds[k])[i])
		}
		t.Row(row...)
	}
	var out string
	for line := range strings.Lines(t.String()) {
		line = strings.TrimSuffix(line, "\n")
		if term.Width(h.Style.Text(line)) > h.width() && beside > 1 {
			return h.costOf(p, beside-1)
		}
		out += h.fit(line)
	}
	return out + h.budgetsBelow(p.Budgets[beside:])
}

// listedBudgets is how many budgets are listed below the table that have no
// column in it.
const listedBudgets = 2

// budgetsBelow are budgets for which the table has no room.
func (h Human) budgetsBelow(budgets []planner.BudgetCheck) string {
	var out string
	for i, c := range budgets {
		if i == listedBudgets && !h.Verbose {
			return out + fmt.Sprintf("  … and %s, in -json\n", units.Count(len(budgets)-i, "more budget"))
		}
		out += h.fit("  budget \"" + budgetName(c) + "\": " + limits(c))
	}
	return out
}

// budgetName is a budget's name, cut to the width of a column.
func budgetName(c planner.BudgetCheck) string { return term.Fit(term.CleanLine(c.Name), 20) }

// limits is "$40.00, 60 GPU-hours, done by 2026-12-15".
func limits(c planner.BudgetCheck) string {
	var parts []string
	for _, u := range unitNames {
		if text := Amount(u.unit, c.Limits[u.unit]); text != "" {
			parts = append(parts, text)
		}
	}
	if !c.Deadline.IsZero() {
		parts = append(parts, deadline(c.Deadline))
	}
	return strings.Join(parts, ", ")
}

// budgetColumn is a budget's name, its limits with their digits in line, and
// its deadline.
func budgetColumn(b planner.BudgetCheck, limits []string) []string {
	out := []string{`budget "` + budgetName(b) + `"`}
	width := limitWidth
	for _, l := range limits {
		width = max(width, term.Width(l))
	}
	for _, l := range limits {
		out = append(out, strings.Repeat(" ", width-term.Width(l))+l)
	}
	if b.Deadline.IsZero() {
		return append(out, strings.Repeat(" ", width-1)+"–")
	}
	return append(out, deadline(b.Deadline))
}

// tableLine is a line of the cost table, if it has one of the unit.
func tableLine(p *planner.Plan, budgets []planner.BudgetCheck, unit string) (forecast.CostLine, bool) {
	line, ok := lineOf(p.Forecast.Lines, unit)
	switch {
	case ok || !limited(budgets, unit):
		return line, ok
	case p.Forecast.LeftOut > 0:
		return forecast.UnknownLine(unit), true
	}
	return limitedLine(p, budgets, unit), true
}

// limitedLine is the line of a unit that only a budget names: the amount in
// that budget's scope.
func limitedLine(p *planner.Plan, budgets []planner.BudgetCheck, unit string) forecast.CostLine {
	for _, b := range budgets {
		if line, ok := lineOf(p.Forecast.ByScope[b.Name], unit); ok && b.Limits[unit] != "" {
			return line
		}
	}
	line, _ := lineOf(nil, unit)
	return line
}

func lineOf(lines []forecast.CostLine, unit string) (forecast.CostLine, bool) {
	for _, l := range lines {
		if l.Unit == unit {
			return l, true
		}
	}
	zero := forecast.Figure{Text: "0"}
	return forecast.CostLine{Unit: unit, Expected: zero, P90: zero, AtMost: zero}, false
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
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return "done by " + t.UTC().Format(time.DateOnly)
	}
	return "done by " + units.FormatTime(t)
}

// ganttWidth is the length of the time axis in columns, ganttRows how many
// phases get a row.
const (
	ganttWidth = 40
	ganttRows  = 12
	ganttName  = 24 // columns of a phase's name
)

// gantt draws when each phase is busy, as expected; with -verbose and in a
// comment it says so in figures, too.
func (h Human) gantt(p *planner.Plan) string { return h.ganttOf(p, h.Verbose) }

func (h Human) ganttOf(p *planner.Plan, figures bool) string {
	total := p.Forecast.Walltime.P50
	spans := p.Forecast.Phases
	if total <= 0 || len(spans) == 0 {
		return ""
	}
	shown := spans[:min(len(spans), ganttRows)]
	names, width := make([]string, len(shown)), 0
	for i, s := range shown {
		names[i] = term.Fit(s.Phase, ganttName)
		width = max(width, term.Width(names[i]))
	}
	var b strings.Builder
	path := ""
	if len(p.Forecast.Critical) > 1 {
		path = "critical path: " + strings.Join(p.Forecast.Critical, " → ")
	}
	beside := !figures && term.Width("  ")+width+term.Width("  ")+ganttWidth+2+term.Width("   "+path) <= h.width()
	for i, s := range shown {
		line := "  " + names[i] + strings.Repeat(" ", width-term.Width(names[i])) + "  " + h.bar(s.Busy, total)
		if path != "" && beside && i == len(shown)/2 {
			line += "   " + path
		}
		if figures {
			line += "   " + busyFrom(s.Busy)
		}
		b.WriteString(h.fit(line))
	}
	if path != "" && !beside {
		b.WriteString(h.some([]string{path}, "  ", "    ", ""))
	}
	if n := len(spans) - len(shown); n > 0 {
		b.WriteString("  … and " + units.Count(n, "more phase") + "\n")
	}
	return b.String()
}

// busyFrom is "20m to 2h 20m": from the first start to the last end, counted
// from when the plan is applied.
func busyFrom(busy []forecast.Interval) string {
	if len(busy) == 0 {
		return ""
	}
	end := busy[0].To
	for _, iv := range busy {
		end = max(end, iv.To)
	}
	return roughly(busy[0].From) + " to " + roughly(end)
}

// eighths are the block elements from one eighth to seven.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// eighth is the part of a column that is filled; without such letters, a
// column is filled when half of it is.
func (h Human) eighth(n int) string {
	if h.Style.UTF8 {
		return eighths[n]
	}
	if n < 4 {
		return ""
	}
	return "█"
}

// shortBar is how many eighths of a column the shortest bar takes.
const shortBar = 4

// nearly is the part of an eighth that may lack for a whole one.
const nearly = 0.1

// bar draws when a phase is busy. A start falls on the nearest column; an end on the last full
// eighth of one; a short one is still visible.
func (h Human) bar(busy []forecast.Interval, total time.Duration) string {
	exact := func(d time.Duration) float64 { return float64(d) / float64(total) * ganttWidth }
	scale := func(d time.Duration) int { return int(exact(d)*8 + nearly) }
	cells := make([]string, ganttWidth)
	for _, iv := range busy {
		from, to := min(int(math.Round(exact(iv.From))), ganttWidth-1), min(scale(iv.To), ganttWidth*8)
		to = max(to, from*8+shortBar)
		if length := scale(iv.To - iv.From); length < 8 {
			to = from*8 + max(length, shortBar)
		}
		for c := from; c < ganttWidth && c*8 < to; c++ {
			if rest := to - c*8; rest >= 8 {
				cells[c] = "█"
			} else if cells[c] != "█" {
				cells[c] = h.eighth(rest)
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
