package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
)

// costParts is the part of each phase and each pool in the sum, where there
// are several.
func (h Human) costParts(p *planner.Plan) string {
	var b strings.Builder
	for _, by := range []struct {
		title string
		parts map[string][]forecast.CostLine
	}{{"by phase", p.Forecast.ByPhase}, {"by backend", p.Forecast.ByBackend}, {"by pool", p.Forecast.ByPool}} {
		if len(by.parts) < 2 || by.title == "by pool" && len(by.parts) == len(p.Forecast.ByBackend) {
			continue
		}
		b.WriteString(h.costTable(by.title, by.parts))
	}
	return b.String()
}

// costTable has a line for each part and unit that is not a known nothing.
func (h Human) costTable(title string, parts map[string][]forecast.CostLine) string {
	t := term.Table{Indent: "    ", Gap: "   ", Align: []term.Align{term.Left, term.Left, term.Right, term.Right, term.Right}}
	names := slices.Sorted(maps.Keys(parts))
	more := 0
	if len(names) > tableLines && !h.Verbose {
		names, more = names[:tableLines], len(names)-tableLines
	}
	for _, name := range names {
		shown := h.named(term.CleanLine(name))
		for _, u := range unitNames {
			line, ok := lineOf(parts[name], u.unit)
			if !ok || line.AtMost.Mark != forecast.Unknown && limit(u.unit, line.AtMost.Text) == quantity(u.unit, "0") {
				continue
			}
			t.Row(shown, u.name, figure(u.unit, line.Expected), figure(u.unit, line.P90), figure(u.unit, line.AtMost))
			shown = ""
		}
	}
	out := "  " + title + ": expected, p90, at most\n"
	for line := range strings.Lines(t.String()) {
		out += h.fit(strings.TrimSuffix(line, "\n"))
	}
	if more > 0 {
		out += "    … and " + commas(more) + " more" + ", in -json\n"
	}
	return out
}
