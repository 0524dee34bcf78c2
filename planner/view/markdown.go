package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
)

// markdownLimit keeps a comment below GitHub's 65,536 characters (GitLab
// allows a million), with room for what a pipeline adds around it.
const markdownLimit = 60000

// Markdown prints a plan for a merge request: the figures first, the details
// folded away, never longer than a comment may be.
func Markdown(w io.Writer, p *planner.Plan) error {
	h := Human{Style: term.Style{UTF8: true, Width: term.MaxWidth}}
	var b strings.Builder
	fmt.Fprintf(&b, "### muster plan: campaign `%s`\n\n%s\n\n", p.Campaign, escape(summary(p)))
	if p.Reason != "" {
		fmt.Fprintf(&b, "> %s\n\n", escape(term.CleanLine(p.Reason)))
	}
	for _, c := range p.Budgets {
		for _, text := range append(append([]string{}, c.Broken...), c.Warn...) {
			fmt.Fprintf(&b, "- **budget `%s`**: %s\n", c.Name, escape(text))
		}
	}
	if p.Counts.Changes() {
		b.WriteString("\n" + markdownCost(p) + "\n")
	}
	if rows := p.Destructive(); len(rows) > 0 {
		b.WriteString("**Needs a yes of its own** (finished work re-run, or running work cancelled):\n\n")
		for i, r := range rows {
			if i == 20 {
				fmt.Fprintf(&b, "- … and %s more\n", count(len(rows)-i))
				break
			}
			fmt.Fprintf(&b, "- %s %s\n", symbols[r.Kind], code(r.Address))
		}
		b.WriteByte('\n')
	}
	fence(&b, "What runs where", true, h.backends(p)+"\n"+h.phases(p)+h.loose(p))
	if p.Counts.Changes() {
		fence(&b, "When", false, h.gantt(p))
	}
	if text := h.basis(p) + h.notes(p); text != "" {
		fence(&b, "What was assumed", false, text)
	}
	_, err := io.WriteString(w, clipMarkdown(b.String()))
	return err
}

func markdownCost(p *planner.Plan) string {
	var b strings.Builder
	b.WriteString("| | expected | p90 | at most |")
	for _, c := range p.Budgets {
		b.WriteString(" budget `" + c.Name + "` |")
	}
	b.WriteString("\n|:--|--:|--:|--:|" + strings.Repeat("--:|", len(p.Budgets)) + "\n")
	for _, u := range unitNames {
		line, ok := lineOf(p.Forecast.Lines, u.unit)
		if !ok && !limited(p.Budgets, u.unit) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", u.name, star(figure(u.unit, line.Expected)), star(figure(u.unit, line.P90)), star(figure(u.unit, line.AtMost)))
		for _, c := range p.Budgets {
			b.WriteString(" " + limit(u.unit, c.Limits[u.unit]) + " |")
		}
		b.WriteByte('\n')
	}
	f := p.Forecast.Walltime
	fmt.Fprintf(&b, "| walltime | %s | %s | – |", units.FormatDuration(f.P50), units.FormatDuration(f.P90))
	for _, c := range p.Budgets {
		b.WriteString(" " + deadline(c.Deadline) + " |")
	}
	b.WriteByte('\n')
	return b.String()
}

// code is text in a code span that no backtick in it can end.
func code(s string) string {
	s = term.CleanLine(s)
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) == 1 {
		return ticks + s + ticks
	}
	return ticks + " " + s + " " + ticks
}

// star keeps the estimate mark from starting emphasis.
func star(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

// escape makes text of the campaign harmless in Markdown.
func escape(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "`", "'", "|", `\|`, "*", `\*`, "_", `\_`, "@", "&#64;", "[", `\[`, "]", `\]`).Replace(s)
}

// fence adds a folded block of preformatted text. Its own fence is longer
// than any run of backticks inside.
func fence(b *strings.Builder, title string, open bool, text string) {
	if text = strings.Trim(text, "\n"); text == "" {
		return
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

func clipMarkdown(s string) string {
	if len(s) <= markdownLimit {
		return s
	}
	cut := strings.LastIndexByte(s[:markdownLimit], '\n')
	s = s[:max(cut, 0)]
	if strings.Count(s, "```")%2 == 1 {
		s += "\n```"
	}
	if strings.Count(s, "<details") > strings.Count(s, "</details>") {
		s += "\n\n</details>"
	}
	return s + "\n\n… cut to fit a comment; `muster show` has the whole plan.\n"
}
