package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/markdown"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/view"
)

// A writing is how a report is written: for a forge, or for a person's screen.
type writing struct {
	columns int                 // of a row; 0 = as many as it takes
	text    func(string) string // one line of it
}

// Markdown is the page of `muster report`: Markdown, and on a terminal without
// the parts that only a forge needs.
func (r Report) Markdown(style term.Style) string {
	w := writing{style.Row, markdown.Text}
	if style.TTY {
		w.text = term.CleanLine
	}
	var b strings.Builder
	r.head(&b, w)
	b.WriteString(r.Planned.markdown(w))
	if rows := r.expectedRows(); len(rows) > 1 {
		b.WriteString("\n## Expected and actual time\n\nThe median time of completed jobs, and the time expected at their launch.\n\n" + w.table(rows))
	}
	if rows := r.ranRows(); len(rows) > 1 {
		b.WriteString("\n## Runs\n\n" + w.table(rows))
	}
	for i, v := range r.Rounds {
		if i == 0 {
			b.WriteString("\n## Rounds\n")
		}
		b.WriteString("\n" + v.markdown(w))
	}
	if len(r.History) > 0 {
		b.WriteString("\n## Where the time went\n\nThe median of a job, and all jobs together.\n\n" + w.table(timeRows(r.History)))
		b.WriteString("\n## Requested and used\n\n" + w.table(useRows(r.History)))
	}
	if rows := troubles(r); len(rows) > 1 {
		b.WriteString("\n## Failures and retries\n\n" + w.table(rows))
	}
	r.closing(&b, w)
	return b.String()
}

// head writes the title, the sums and the table of phases.
func (r Report) head(b *strings.Builder, w writing) {
	fmt.Fprintf(b, "# %s\n\n", w.text(r.Campaign))
	if r.Description != "" {
		fmt.Fprintf(b, "%s\n\n", w.text(term.CleanLine(r.Description)))
	}
	if !r.Began.IsZero() {
		fmt.Fprintf(b, "From the first submission, %s, to the last end, %s: %s.\n", units.FormatSecond(r.Began.Local()), units.FormatSecond(r.Ended.Local()), units.FormatDuration(r.Ended.Sub(r.Began).Round(time.Second)))
	}
	if text := view.Amounts(r.Spent, r.asked...); text != "" {
		fmt.Fprintf(b, "Spent: %s%s.\n", text, r.unpriced())
	}
	if text := r.Totals.text(); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
	for _, line := range r.adoptions() {
		fmt.Fprintf(b, "%s\n", w.text(line))
	}
	if text := emptyText(r.Empty); text != "" {
		fmt.Fprintf(b, "Warning: %s\n", w.text(text))
	}
	rows := [][]string{{"phase", "jobs", "done", "retried", "failed", "median", "longest", "queued"}}
	for _, p := range r.Phases {
		rows = append(rows, []string{p.Phase, strconv.Itoa(p.Jobs), strconv.Itoa(p.Completed), strconv.Itoa(p.Retried), strconv.Itoa(p.Failed), secs(p.Median), secs(p.Longest), secs(p.Queued)})
	}
	b.WriteString("\n" + w.table(rows))
}

// closing writes the inputs that jobs ran without, the next command, notes,
// and results.
func (r Report) closing(b *strings.Builder, w writing) {
	if rows := r.without(); len(rows) > 1 {
		b.WriteString("\n## Partial results\n\n" + w.table(rows))
	}
	if len(r.Next) > 0 {
		b.WriteString("\n## Next\n\n")
		for _, step := range r.Next {
			fmt.Fprintf(b, "- %s\n", step)
		}
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		for _, n := range r.Notes {
			fmt.Fprintf(b, "- %s\n", w.text(n.Address+": "+noteLine(n)))
		}
	}
	if rows := r.unread(); len(rows) > 1 {
		b.WriteString("\n## Metrics without a value\n\n" + w.table(rows))
	}
	if len(r.Results) > 0 {
		b.WriteString("\n## Results\n\n")
		for _, v := range r.Results {
			b.WriteString("- " + w.text(v.text()) + "\n")
		}
	}
}

// adoptions says how many jobs of each phase have adopted files.
func (r Report) adoptions() (lines []string) {
	type group struct{ phase, text string }
	n := map[group]int{}
	var order []group
	for _, j := range r.Jobs {
		if j.Adopted == nil {
			continue
		}
		g := group{j.Phase, j.Adopted.text()}
		if n[g]++; n[g] == 1 {
			order = append(order, g)
		}
	}
	for _, g := range order {
		lines = append(lines, fmt.Sprintf("phase.%s: %s %s.", g.phase, units.Count(n[g], "job"), g.text))
	}
	return lines
}

// mostMissing is how many missing producers a report names of one input. Its JSON has all.
const mostMissing = 20

// without lists the jobs that went on without some of their producers.
func (r Report) without() [][]string {
	rows := [][]string{{"job", "input", "ran without", ""}}
	for _, j := range r.Jobs {
		for _, l := range j.Without {
			more, names := "", l.Missing
			if n := len(names) - mostMissing; n > 0 {
				names, more = names[:mostMissing], fmt.Sprintf(" and %d more", n)
			}
			since := ""
			if l.Done > 0 {
				since = fmt.Sprintf("%d done since", l.Done)
			}
			rows = append(rows, []string{term.CleanLine(j.Address), l.Input, term.CleanLine(strings.Join(names, ", ")) + more, since})
		}
	}
	return rows
}

// unread lists the metrics of which jobs left no value.
func (r Report) unread() [][]string {
	rows := [][]string{{"job", "metric", "why"}}
	for _, j := range r.Jobs {
		for _, name := range slices.Sorted(maps.Keys(j.Unread)) {
			rows = append(rows, []string{term.CleanLine(j.Address), name, term.CleanLine(j.Unread[name])})
		}
	}
	return rows
}

// timeRows tell queue, run and retry time apart.
func timeRows(history []historyReport) [][]string {
	rows := [][]string{{"phase", "work", "queue", "run", "retries", "queue, all", "run, all", "retries, all"}}
	for _, h := range history {
		rows = append(rows, []string{h.Phase, strings.ToUpper(h.Work), secs(h.Median.Queue), secs(h.Median.Run), secs(h.Median.Retry), secs(h.Sum.Queue), secs(h.Sum.Run), secs(h.Sum.Retry)})
	}
	return rows
}

// useRows compare the use of launches with their requests.
func useRows(history []historyReport) [][]string {
	rows := [][]string{{"phase", "resource", "requested", "median", "most"}}
	for _, h := range history {
		for _, u := range h.Uses {
			rows = append(rows, []string{h.Phase, u.What, askedText(u), usedText(u, u.Median), usedText(u, u.Most)})
		}
	}
	return rows
}

// troubles lists jobs that did not succeed at their first attempt.
func troubles(r Report) [][]string {
	rows := [][]string{{"job", "attempts", "failures", "now"}}
	for _, j := range r.Jobs {
		if len(j.Failures) > 0 {
			rows = append(rows, []string{term.CleanLine(j.Address), strconv.Itoa(j.Attempts), strings.Join(j.Failures, ", "), j.Status})
		}
	}
	return rows
}

// table lines columns up, so that the report reads well as text, too.
func (w writing) table(rows [][]string) string {
	for _, row := range rows {
		for i := range row {
			row[i] = w.text(row[i])
		}
	}
	t := term.Table{Gap: " | ", Indent: "| ", Width: w.columns}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], term.Width(cell), 3)
		}
	}
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat("-", n)
	}
	for i, row := range rows {
		t.Row(append(row, "")...)
		if i == 0 {
			t.Row(append(rule, "")...)
		}
	}
	lines := strings.SplitAfterN(t.String(), "\n", 3)
	lines[1] = strings.ReplaceAll(lines[1], "…", "-") // the rule, where it was shortened
	return strings.Join(lines, "")
}

func secs(s float64) string {
	switch {
	case s == 0:
		return "–"
	case s < 10:
		return fmt.Sprintf("%.2fs", s)
	}
	return units.FormatDuration(time.Duration(s * float64(time.Second)).Round(time.Second))
}
