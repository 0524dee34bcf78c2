package view

import (
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
)

// brief is one line a phase, those that change something first.
func brief(p *planner.Plan) []line {
	var lines []line
	same, jobsSame, hidden, jobsHidden := 0, 0, 0, 0
	for _, pp := range p.Phases {
		text := kinds(pp)
		switch {
		case text == "":
			same++
			jobsSame += len(pp.Kind)
		case len(lines) == briefPhases:
			hidden++
			jobsHidden += len(pp.Kind)
		default:
			lines = append(lines, line{label: "phase." + pp.Phase.Name, amount: units.Count(len(pp.Kind), "job"), shape: text, note: where(pp), phase: true})
		}
	}
	if hidden > 0 {
		lines = append(lines, line{label: "… " + units.Count(hidden, "more phase"), amount: units.Count(jobsHidden, "job"), shape: "-verbose shows every one", phase: true})
	}
	if n := len(p.Transfers); n > 0 {
		files := 0
		for _, t := range p.Transfers {
			files += t.Files
		}
		lines = append(lines, line{label: "⇡⇣ transfers", amount: units.Count(files, "file"), shape: units.Count(n, "input") + " that move between backends", phase: true})
	}
	if same > 0 {
		lines = append(lines, line{label: units.Count(same, "phase") + " more", amount: units.Count(jobsSame, "job"), shape: "unchanged", phase: true})
	}
	return lines
}

// kinds is "+ run 24, ! held 1": the plan for a phase in one line, "" for
// nothing.
func kinds(pp *planner.PhasePlan) string {
	var n [256]int
	for _, k := range pp.Kind {
		n[k]++
	}
	var parts []string
	if g := pp.Smoke; g != nil && len(g.Run) > 0 && pp.Hold == "" {
		parts = append(parts, "+ "+g.Word()+" "+commas(len(g.Launches())))
	}
	for k := range n {
		if kind := planner.Kind(k); n[k] > 0 && kind != planner.None && kind != planner.Skipped {
			parts = append(parts, Word(kind)+" "+commas(n[k]))
		}
	}
	if pp.Reread != nil {
		parts = append(parts, "metrics read again "+commas(pp.Reread.Jobs))
	}
	if pp.Hold != "" {
		parts = append(parts, "! held: "+term.CleanLine(pp.Hold))
	}
	return strings.Join(parts, ", ")
}
