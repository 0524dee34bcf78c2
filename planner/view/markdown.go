package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/markdown"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
)

// markdownLimit keeps a comment below GitHub's 65,536 characters (GitLab
// allows a million), with room for a pipeline's own text around it. The head
// is cut between lines, before any block is open; a block is as long as there
// is room for.
const (
	markdownLimit = 60000
	headLimit     = 48000
	foot          = 2000 // bytes for the words and signs at the end, and around a block
)

// markdownColumns is how many columns of a block GitHub shows in a comment before
// it has to be moved sideways.
const markdownColumns = 90

// Markdown prints a plan for a merge request: actions, possible cost, end, risks and the
// effect of an approval come first, details are folded away, and it is never longer than a
// comment may be.
func Markdown(w io.Writer, p *planner.Plan) error {
	h := Human{Style: term.Style{UTF8: true, Width: markdownColumns}}
	var b strings.Builder
	fmt.Fprintf(&b, "### muster plan: campaign %s\n\n**%s**\n\n", code(p.Campaign), strings.ReplaceAll(escape(summary(p)), "\n", "**<br>**"))
	if p.About != "" {
		b.WriteString(escape(clip(p.About, 400)) + "\n\n")
	}
	if p.Reason != "" {
		fmt.Fprintf(&b, "> %s\n\n", markdownLines(p.Reason))
	}
	markdownStory(&b, p)
	forecasts := hasForecast(p)
	if forecasts {
		b.WriteString(markdownCost(p) + markdownLegend + markdownOther(p) + markdownSpent(p) + "\n")
		markdownWork(&b, p)
	}
	markdownRisks(&b, p)
	markdownSecondLook(&b, p)
	markdownAllows(&b, p)
	if b.Len() > headLimit {
		head := b.String()
		b.Reset()
		b.WriteString(head[:strings.LastIndexByte(head[:headLimit], '\n')] + "\n\n… cut to fit a comment; `muster plan` shows the rest.\n\n")
		markdownAllows(&b, p)
	}
	fence(&b, "Jobs by place", true, h.backends(p)+"\n"+h.phases(p)+h.loose(p)+h.deletions(p))
	if forecasts {
		fence(&b, "What costs what", false, h.costParts(p))
		fence(&b, "When, as expected, counted from the start", false, h.ganttOf(p, true))
		fence(&b, "What would be sooner", false, h.faster(p))
	}
	fence(&b, "Assumptions and notes", true, h.basis(p)+h.some(slices.DeleteFunc(slices.Clone(p.Notes), func(n string) bool { return slices.Contains(p.Dangers, n) }), "  ", "  ", "more note"))
	if p.Counts.Changes() {
		b.WriteString("<details><summary>Words and signs</summary>\n\n" + markdownSigns + "\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownOther are the budgets that have no column.
func markdownOther(p *planner.Plan) string {
	var out []string
	for i, c := range p.Budgets[min(len(p.Budgets), shownBudgets):] {
		if i == markdownRows/4 {
			out = append(out, "and more")
			break
		}
		out = append(out, fmt.Sprintf("budget %s %s", code(c.Name), limits(c)))
	}
	if len(out) == 0 {
		return ""
	}
	return "Limits beside these: " + strings.Join(out, "; ") + ".\n"
}

// markdownSpent is the spent part of the budgets that have a column.
func markdownSpent(p *planner.Plan) string {
	var out []string
	for _, c := range p.Budgets[:min(len(p.Budgets), shownBudgets)] {
		if spent := Amounts(c.Spent); spent != "" {
			out = append(out, fmt.Sprintf("%s of budget %s", spent, code(c.Name)))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Spent before this plan, and not in the figures: " + strings.Join(out, "; ") + ".\n"
}

// markdownLegend is for who reads a plan for the first time.
const markdownLegend = "\n*Expected* is the likely sum; nine campaigns in ten stay below *p90*; *at most* is every job for its whole walltime, with every attempt it may make. " +
	"`*` marks an estimate; its basis is below.\n"

// markdownLines is foreign text of several lines, the first of them.
func markdownLines(text string) string {
	const shown = 5
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(out) == shown {
			out = append(out, "…")
			break
		}
		out = append(out, escape(clip(line, 300)))
	}
	return strings.Join(out, "<br>")
}

// markdownRows is how many rows of one kind a comment lists.
const markdownRows = 20

func markdownCost(p *planner.Plan) string {
	var b strings.Builder
	b.WriteString("| | expected | p90 | at most |")
	budgets := p.Budgets[:min(len(p.Budgets), shownBudgets)]
	for _, c := range budgets {
		b.WriteString(" budget " + escape(clip(c.Name, 60)) + " |")
	}
	b.WriteString("\n|:--|--:|--:|--:|" + strings.Repeat("--:|", len(budgets)) + "\n")
	for _, u := range unitNames {
		line, ok := tableLine(p, budgets, u.unit)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", u.name, star(figure(u.unit, line.Expected)), star(figure(u.unit, line.P90)), star(figure(u.unit, line.AtMost)))
		for _, c := range budgets {
			b.WriteString(" " + limit(u.unit, c.Limits[u.unit]) + " |")
		}
		b.WriteByte('\n')
	}
	f := p.Forecast.Walltime
	fmt.Fprintf(&b, "| walltime | %s | %s | – |", star(span(f.P50, f.Mark)), star(span(f.P90, f.Mark)))
	for _, c := range budgets {
		b.WriteString(" " + deadline(c.Deadline) + " |")
	}
	b.WriteByte('\n')
	return b.String()
}

// code is foreign text in a code span.
func code(s string) string { return markdown.Code(clip(s, 200)) }

// star keeps the estimate mark from starting emphasis.
func star(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

// clip is foreign text on one line, cut to a number of columns, and to a few
// bytes for each: marks that stand above a letter take none.
func clip(s string, columns int) string {
	s = term.Fit(term.CleanLine(s), columns)
	if most := 4 * columns; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// escape makes text of the campaign harmless in Markdown.
func escape(s string) string { return markdown.Text(s) }

// fenceLimit is the most bytes of one folded block.
const fenceLimit = 12000

// fence adds a folded block of preformatted text. Its own fence is longer
// than any run of backticks inside.
func fence(b *strings.Builder, title string, open bool, text string) {
	if text = strings.Trim(text, "\n"); text == "" {
		return
	}
	if room := min(fenceLimit, markdownLimit-foot-b.Len()); len(text) > room {
		if room < foot {
			return // nothing of it that is worth a block
		}
		cut := max(strings.LastIndexByte(text[:room], '\n'), 0)
		text = text[:cut] + "\n… `muster plan` shows the rest"
	}
	attr := ""
	if open {
		attr = " open"
	}
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	fmt.Fprintf(b, "<details%s><summary>%s</summary>\n\n%stext\n%s\n%s\n\n</details>\n\n", attr, title, ticks, text, ticks)
}
