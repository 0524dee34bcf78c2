package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/view"
)

// histogramWidth is the columns of a histogram.
const histogramWidth = 24

// A rehearsedFigure is one row: how a figure came out, and what the plan says
// of it.
type rehearsedFigure struct {
	name   string // of the row
	unit   string // in JSON
	spread rehearse.Spread
	plan   [3]string // expected, p90, at most; "" where the plan says nothing
	show   func(float64) string
}

var rehearsedUnits = map[string]string{"usd": "money", "service_units": "service units", "gpu_hours": "GPU-hours", "cpu_hours": "CPU-hours", "node_hours": "node-hours"}

// rehearsedFigures are the rows, in the order of a plan's cost table.
func rehearsedFigures(p *planner.Plan, runs []rehearse.Result) []rehearsedFigure {
	var out []rehearsedFigure
	list := rehearse.Units(runs)
	for _, u := range list {
		if u == "cpu_hours" && slices.Contains(list, "gpu_hours") {
			continue // as in a plan
		}
		line := forecast.LineOf(p.Forecast.Lines, u)
		if u == "node_hours" && line.Unit == "" {
			continue // nobody asked
		}
		shown := func(v float64) string { return shownAmount(u, strconv.FormatFloat(v, 'f', 6, 64)) }
		f := rehearsedFigure{name: rehearsedUnits[u], unit: u, spread: rehearse.SpreadOf(runs, rehearse.Spent(u)), show: shown}
		for i, fig := range []forecast.Figure{line.Expected, line.P90, line.AtMost} {
			if f.plan[i] = "unknown"; fig.Mark != forecast.Unknown {
				f.plan[i] = shownAmount(u, fig.Text)
			}
		}
		out = append(out, f)
	}
	w := p.Forecast.Walltime
	took := rehearsedFigure{name: "walltime", unit: "walltime_s", spread: rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return r.Took.Seconds() }),
		show: func(v float64) string {
			return units.FormatDuration(time.Duration(v * float64(time.Second)).Round(time.Second))
		}}
	if took.plan = [3]string{"unknown", "unknown"}; w.Mark != forecast.Unknown {
		took.plan = [3]string{units.FormatDuration(w.P50), units.FormatDuration(w.P90)}
	}
	out = append(out, took)
	count := func(v float64) string { return units.FormatCount(int64(v + 0.5)) }
	for _, c := range []struct {
		name, unit string
		of         func(rehearse.Result) int
		always     bool
	}{
		{"failed jobs", "failed", func(r rehearse.Result) int { return r.Failed }, true},
		{"held jobs", "held", func(r rehearse.Result) int { return r.Held }, true},
		{"blocked jobs", "blocked", func(r rehearse.Result) int { return r.Blocked }, false},
		{"never started", "left", func(r rehearse.Result) int { return r.Left }, false},
		{"retries", "retries", func(r rehearse.Result) int { return r.Retries }, false},
		{"resumed", "resumed", func(r rehearse.Result) int { return r.Visits }, false},
	} {
		s := rehearse.SpreadOf(runs, func(r rehearse.Result) float64 { return float64(c.of(r)) })
		if c.always || s.Max > 0 {
			out = append(out, rehearsedFigure{name: c.name, unit: c.unit, spread: s, show: count})
		}
	}
	return out
}

// shownAmount is an amount without its unit's name.
func shownAmount(unit, text string) string {
	s := view.Amount(unit, text)
	if s == "" {
		return "0"
	}
	if word := " " + rehearsedUnits[unit]; strings.HasSuffix(s, word) {
		return strings.TrimSuffix(s, word)
	}
	return s
}

// aboveAtMost says in how many rehearsals more was spent than the plan says may be,
// and why, "" where in none.
func aboveAtMost(p *planner.Plan, runs []rehearse.Result) (out string) {
	for _, u := range rehearse.Units(runs) {
		line := forecast.LineOf(p.Forecast.All(), u)
		if line.Unit == "" || line.AtMost.Mark == forecast.Unknown {
			continue
		}
		most, n, worst := amount.Of(line.AtMost.Text), 0, 0.0
		for _, r := range runs {
			if spent := rehearse.Spent(u)(r); amount.Exceeds(decimal.NewFromFloat(spent).Round(6), most) {
				n, worst = n+1, max(worst, spent)
			}
		}
		if n > 0 {
			out += fmt.Sprintf("  ! In %d of %s %s passed \"at most\" (%s), up to %s: bills were above the quotes.\n", n, units.Count(len(runs), "rehearsal"), rehearsedUnits[u],
				view.Amount(u, line.AtMost.Text), view.Amount(u, strconv.FormatFloat(worst, 'f', 6, 64)))
		}
	}
	if out != "" {
		out += "\n"
	}
	return out
}

func RehearsalText(p *planner.Plan, stage *rehearse.Stage, seed uint64, runs []rehearse.Result, style term.Style) string {
	var b strings.Builder
	times := "once"
	if len(runs) > 1 {
		times = units.FormatCount(int64(len(runs))) + " times"
	}
	held := ""
	if n := p.Counts.Held + p.Counts.Blocked; n > 0 {
		held = fmt.Sprintf(", %s held or blocked", units.FormatCount(int64(n)))
	}
	fmt.Fprintf(&b, "\nRehearsed %s with seed %d: %s to run%s.\n\n", times, seed, units.Count(p.Counts.Run+p.Counts.Retry+p.Counts.Rerun, "job"), held)
	b.WriteString(aboveAtMost(p, runs))
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right, term.Right, term.Right, term.Right, term.Right, term.Right, term.Right}}
	t.Row("", "p10", "p50", "p90", "plan:", "expected", "p90", "at most")
	for _, f := range rehearsedFigures(p, runs) {
		row := []string{f.name, f.show(f.spread.P10), f.show(f.spread.P50), f.show(f.spread.P90), ""}
		for _, text := range f.plan {
			if text == "" {
				text = "–"
			}
			row = append(row, text)
		}
		t.Row(row...)
	}
	b.WriteString(t.String())
	if h := histograms(p, runs, style); h != "" {
		b.WriteString("\n" + h)
	}
	fmt.Fprintf(&b, "\n  %s\n", completedText(runs))
	for _, e := range rehearse.Endings(runs) {
		fmt.Fprintf(&b, "  %s\n", endingText(e, len(runs)))
	}
	for _, budget := range p.Budgets {
		if late := lateRuns(p, budget, runs); late > 0 {
			fmt.Fprintf(&b, "  in %d of %d rehearsals it ended after the deadline of budget %q\n", late, len(runs), budget.Name)
		}
	}
	b.WriteString("\n  Drawn from:\n")
	assumed := stage.Assumed()
	if text := stage.Attended(runs); text != "" {
		assumed = append(assumed, text)
	}
	for _, text := range append(assumed, "waits in queues as quoted, boots as quoted and billed",
		"not simulated: other users' jobs beyond the quoted wait, and undeclared price changes") {
		for i, line := range term.Wrap(text, max(style.Width, 60)-6) {
			indent := "    "
			if i > 0 {
				indent = "      "
			}
			b.WriteString(indent + line + "\n")
		}
	}
	return b.String()
}

// histograms are the rows that differ from rehearsal to rehearsal and that a
// decision hangs on.
func histograms(p *planner.Plan, runs []rehearse.Result, style term.Style) string {
	if len(runs) < 10 || !style.UTF8 {
		return ""
	}
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	any := false
	for _, f := range rehearsedFigures(p, runs) {
		switch f.unit {
		case "usd", "service_units", "gpu_hours", "walltime_s", "failed":
		default:
			continue
		}
		if bars := f.spread.Histogram(histogramWidth); bars != "" {
			t.Row(f.name, f.show(f.spread.Min), "▕"+bars+"▏", f.show(f.spread.Max))
			any = true
		}
	}
	if !any {
		return ""
	}
	return t.String()
}

// completedText says how often all was done.
func completedText(runs []rehearse.Result) string {
	n := 0
	for _, r := range runs {
		if r.Failed+r.Held+r.Blocked+r.Left == 0 {
			n++
		}
	}
	if n == len(runs) {
		return fmt.Sprintf("every job was done in all %d rehearsals", n)
	}
	return fmt.Sprintf("every job was done in %d of %d rehearsals", n, len(runs))
}

// endingText is one way in which rehearsals ended early: "in 12 of 100
// rehearsals budget "b" stopped it, with 9–14 jobs left".
func endingText(e rehearse.Ending, runs int) string {
	left := fmt.Sprintf("%d", e.Min)
	if e.Max > e.Min {
		left = fmt.Sprintf("%d–%d", e.Min, e.Max)
	}
	word := "jobs"
	if e.Max == 1 {
		word = "job"
	}
	return fmt.Sprintf("in %d of %d rehearsals %s, with %s %s left", e.Count, runs, e.Why, left, word)
}

func lateRuns(p *planner.Plan, b planner.BudgetCheck, runs []rehearse.Result) int {
	n := 0
	for _, r := range runs {
		if !b.Deadline.IsZero() && p.Now.Add(r.Took).After(b.Deadline) {
			n++
		}
	}
	return n
}
