package view

import (
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
)

// deletions lists the files that a destroy deletes, by phase and backend;
// -verbose names every one.
func (h Human) deletions(p *planner.Plan) string {
	type key struct{ phase, backend string }
	var order []key
	outputs, bytes := map[key]int{}, map[key]int64{}
	var lines []line
	for _, d := range p.Deletions {
		if h.Verbose {
			lines = append(lines, line{label: "- delete", shape: term.CleanLine(d.Backend + ": " + d.Path), note: units.FormatSize(d.Bytes)})
			continue
		}
		job, _ := addr.Parse(d.Address)
		k := key{job.Phase, d.Backend}
		if outputs[k] == 0 {
			order = append(order, k)
		}
		outputs[k]++
		bytes[k] += d.Bytes
	}
	for i, k := range order {
		if i == tableLines {
			lines = append(lines, line{label: "…", shape: units.Count(len(order)-i, "more phase") + "; -verbose names every file"})
			break
		}
		lines = append(lines, line{label: "- delete", amount: units.Count(outputs[k], "output"), shape: "of phase." + k.phase, note: "on " + k.backend + ", " + units.FormatSize(bytes[k])})
	}
	return h.layout(lines)
}

// refreshSummary is the last word of a plan that plans nothing.
func refreshSummary(c planner.Counts) string {
	if c.Record+c.Missing+c.Altered+c.Unknown == 0 {
		return "Nothing has happened since the state was written. Nothing is planned."
	}
	s := "Since the state was written: " + jobs(c.Record, "has", "have") + " moved on"
	if c.Missing > 0 {
		s += ", outputs of " + jobs(c.Missing, "", "") + " are missing"
	}
	if c.Altered > 0 {
		s += ", outputs of " + jobs(c.Altered, "", "") + " hold other bytes"
	}
	if c.Unknown > 0 {
		s += ", " + jobs(c.Unknown, "is", "are") + " unknown"
	}
	return s + ". Nothing is planned."
}
