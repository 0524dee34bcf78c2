// Package view prints plans: for people on at most one screen, however large
// the campaign; for merge requests as Markdown; for machines as JSON. It
// decides nothing; every word that it prints is in the plan.
package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
)

// Human prints a plan for people.
type Human struct {
	Style   term.Style
	Verbose bool // every job on a line of its own
}

// headWidth is the column at which facts about a backend end, so that they
// line up at the right, and at which sentences are folded; on a narrow screen
// that is its edge.
const headWidth = 88

// narrowest is the least width that a plan is laid out for; a narrower terminal cuts or wraps
// its lines.
const narrowest = 80

// width is how many columns the plan may take.
func (h Human) width() int {
	if h.Style.Width == 0 {
		return term.MaxWidth
	}
	return min(max(h.Style.Width, narrowest), term.MaxWidth)
}

func (h Human) head() int { return min(headWidth, h.width()) }

// Print writes the plan to w.
func (h Human) Print(w io.Writer, p *planner.Plan) error {
	lw := &term.LineWriter{W: w}
	h.section(lw, h.backends(p))
	h.section(lw, h.phases(p))
	h.section(lw, h.loose(p))
	h.section(lw, h.deletions(p))
	h.section(lw, summary(p)+"\n")
	if hasForecast(p) {
		h.section(lw, h.cost(p))
		h.section(lw, h.basis(p))
		h.section(lw, h.gantt(p))
		if h.Verbose {
			h.section(lw, h.costParts(p))
			h.section(lw, h.faster(p))
		}
	}
	h.section(lw, h.risks(p))
	h.section(lw, h.secondLook(p))
	h.section(lw, h.notes(p))
	if h.Verbose {
		h.section(lw, h.everyJob(p))
	}
	return lw.Err
}

// Waiting writes which jobs of a plan that starts nothing wait for somebody, why, and
// what to do.
func (h Human) Waiting(w io.Writer, p *planner.Plan) error {
	lw := &term.LineWriter{W: w}
	h.section(lw, h.phases(p))
	h.section(lw, h.risks(p))
	return lw.Err
}

// section prints a block and an empty line after it.
func (h Human) section(w io.Writer, s string) {
	if s != "" {
		fmt.Fprintf(w, "%s\n", h.Style.Text(s))
	}
}

// Limits of the head and the foot of a plan on a screen.
const (
	shownBackends = 10
	shownNotes    = 6
)

func (h Human) backends(p *planner.Plan) string {
	var b strings.Builder
	width := 0
	views := p.Backends
	if len(views) > shownBackends && !h.Verbose {
		views = views[:shownBackends]
	}
	for _, v := range views {
		width = max(width, len("backend.")+term.Width(v.Name))
	}
	for _, v := range views {
		name := "backend." + v.Name
		line := "  " + name + strings.Repeat(" ", width-term.Width(name)+3)
		if v.Problem != "" { // whole: its end says what to do
			b.WriteString(h.remark("  "+name, line, h.Style.Text("? unknown: "+term.CleanLine(v.Problem))))
		} else {
			line += term.CleanLine(v.Summary)
			if v.Facts != "" {
				line += strings.Repeat(" ", max(2, h.head()-term.Width(line)-term.Width(v.Facts))) + v.Facts
			}
			b.WriteString(h.fit(line))
		}
		if v.Fallback != "" {
			b.WriteString(h.remark("", "    ", term.CleanLine(p.Fallback(v))))
		}
	}
	if n := len(p.Backends) - len(views); n > 0 {
		b.WriteString("  … and " + units.Count(n, "more backend") + "\n")
	}
	return b.String()
}

// summary is the stable last word of a plan; scripts grep it. Its grammar is
// in docs/reference/plan.md.
func summary(p *planner.Plan) string {
	c := p.Counts
	if p.RefreshOnly {
		return refreshSummary(c)
	}
	if !c.Changes() && c.Held+c.Blocked+c.Unknown+c.Missing+c.Altered+c.Bytes == 0 {
		orphans := 0
		for _, r := range p.Loose {
			if r.Orphan {
				orphans++
			}
		}
		switch {
		case p.Destroy && slices.ContainsFunc(p.Loose, func(r planner.Row) bool { return r.Away }):
			return "Nothing can be released: the backends of the rented machines cannot be asked."
		case p.Destroy && orphans > 0:
			return "Nothing to do: no job runs or waits; still billed: " + units.Count(orphans, "orphan") + "."
		case p.Destroy:
			return "Nothing to do: no job runs or waits, and muster rents nothing."
		case c.Total == 0:
			return "Nothing to do: the campaign has no jobs."
		}
		return fmt.Sprintf("Nothing to do: %s done and verified.", jobs(c.Unchanged, "is", "are"))
	}
	s := fmt.Sprintf("Plan: %s to run, %s to re-run, %s to cancel, %s unchanged", commas(c.Run+c.Retry), commas(c.Rerun), commas(c.Cancel), commas(c.Unchanged))
	for _, more := range []struct {
		n    int
		text string
	}{
		{c.Continue, "running on"}, {c.Resubmit, "to resubmit"}, {c.Adopt + c.AdoptFiles, "to adopt"}, {c.Move, "moved"}, {c.Accept, "accepted"}, {c.Restore, "to restore"}, {c.Record, "to record"},
		{c.Held, "held"}, {c.Blocked, "blocked"}, {c.Unknown, "unknown"}, {c.Missing, "missing"}, {c.Altered, "with changed outputs"}, {c.Bytes, "with changed input bytes"}, {c.Forget, "to forget"}, {c.Release, "to release"},
		{c.Delete, "outputs to delete"}, {c.Reread, "with metrics to read again"},
	} {
		if more.n > 0 {
			s += fmt.Sprintf(", %s %s", commas(more.n), more.text)
		}
	}
	s += "."
	if c.Selected < c.Total {
		s += fmt.Sprintf("\n%s of %s selected; the others are left as they are.", commas(c.Selected), jobs(c.Total, "", ""))
	}
	return s
}

// notes are about the plan as a whole.
func (h Human) notes(p *planner.Plan) string {
	notes := slices.DeleteFunc(slices.Clone(p.Notes), func(n string) bool { return slices.Contains(p.Dangers, n) })
	for _, text := range p.Asks {
		notes = append(notes, "needs a saved plan: "+text)
	}
	for i, check := range p.Budgets {
		if spent := Amounts(check.Spent); spent != "" && i < shownBudgets && p.Counts.Changes() {
			notes = append(notes, fmt.Sprintf("budget %q: %s spent before this plan", check.Name, spent))
		}
	}
	return h.some(notes, "  ", "  ", "more note")
}

// shownRisks is how many risks a screen shows.
const shownRisks = 6

// risks lists the risks, worst first, and how far inside its budgets the plan
// is. For a plan that changes nothing it only lists waiting jobs.
func (h Human) risks(p *planner.Plan) string {
	var b strings.Builder
	first, next := "  ", "  "
	list := slices.DeleteFunc(slices.Clone(p.Risks()), func(r planner.Risk) bool { return r.InHead })
	if p.Counts.Changes() && len(list) > 0 {
		b.WriteString("  What could go wrong, worst first:\n")
		first, next = "  - ", "    "
	}
	for i, r := range list {
		if i == shownRisks && !h.Verbose && len(list) > shownRisks+1 {
			b.WriteString(next + "… and " + units.Count(len(list)-i, "more risk") + "; -verbose shows them\n")
			break
		}
		text := r.Text
		switch {
		case r.Kind == "budget":
			text = fmt.Sprintf("budget \"%s\": %s", term.Fit(term.CleanLine(r.Of), 40), text)
		case r.Of != "" && r.Kind != "smoke":
			text = r.Of + ": " + text
		}
		b.WriteString(h.short(text, first, next))
		for _, row := range r.Rows {
			if h.Verbose { // else the table above has them
				b.WriteString(h.short(row, next+"  ", next+"    "))
			}
		}
	}
	if inside := p.Inside(); inside != "" {
		b.WriteString(h.some([]string{inside}, "  ", "  ", ""))
	}
	return b.String()
}

// faster lists changes that would end the plan sooner, and their price.
func (h Human) faster(p *planner.Plan) string {
	var texts []string
	for _, f := range p.Faster() {
		texts = append(texts, fmt.Sprintf("%s: %s instead of %s, %s", f.What, units.FormatDuration(f.End), units.FormatDuration(f.End+f.Saves), f.Price()))
	}
	if len(texts) == 0 {
		return ""
	}
	head := "  Sooner, each by itself:\n"
	if slices.ContainsFunc(p.Transfers, func(t planner.Transfer) bool { return t.Cost != nil }) {
		head = "  Sooner, each by itself (prices leave out files that leave a backend):\n"
	}
	return head + h.some(texts, "    ", "      ", "more")
}

// basis says how runtimes are known.
func (h Human) basis(p *planner.Plan) string {
	return h.some(p.Forecast.Basis, "  * ", "    ", "more estimate")
}

// short folds a text into a few lines, the last of which is cut to the screen.
func (h Human) short(text, first, next string) string {
	lines := term.Wrap(h.Style.Text(term.CleanLine(text)), h.head()-term.Width(first))
	if len(lines) > remarkLines && !h.Verbose {
		lines = append(lines[:remarkLines-1], strings.Join(lines[remarkLines-1:], " "))
	}
	out, lead := "", first
	for _, line := range lines {
		out, lead = out+h.fit(lead+line), next
	}
	return out
}

// some folds texts, and counts those that would not fit the screen.
func (h Human) some(texts []string, first, next, what string) string {
	var b strings.Builder
	for i, text := range texts {
		if i == shownNotes && !h.Verbose && len(texts) > shownNotes+1 {
			b.WriteString(next + "… and " + units.Count(len(texts)-i, what) + "; -verbose shows them\n")
			break
		}
		b.WriteString(h.short(text, first, next))
	}
	return b.String()
}

// jobs is "1 job" or "24 jobs", with a verb where one is given.
func jobs(n int, one, many string) string {
	word, verb := "jobs", many
	if n == 1 {
		word, verb = "job", one
	}
	return strings.TrimSpace(commas(n) + " " + word + " " + verb)
}

func commas(n int) string { return units.FormatCount(int64(n)) }
