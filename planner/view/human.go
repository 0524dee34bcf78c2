// Package view prints plans: for people in at most a screenful however large
// the campaign, as Markdown for a merge request, and for machines as JSON. It
// decides nothing; every word it prints is in the plan.
package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
)

// Human prints a plan for people.
type Human struct {
	Style   term.Style
	Verbose bool // every job on a line of its own
}

// headWidth is the column at which facts about a backend end, so that they
// line up at the right, and at which sentences are folded.
const headWidth = 88

// Print writes the plan to w.
func (h Human) Print(w io.Writer, p *planner.Plan) error {
	lw := &term.LineWriter{W: w}
	h.section(lw, h.backends(p))
	h.section(lw, h.phases(p))
	h.section(lw, h.loose(p))
	h.section(lw, summary(p)+"\n")
	if p.Counts.Changes() {
		h.section(lw, h.cost(p))
		h.section(lw, h.basis(p))
		h.section(lw, h.gantt(p))
	}
	h.section(lw, h.notes(p))
	if h.Verbose {
		h.section(lw, h.everyJob(p))
	}
	return lw.Err
}

// section prints a block and an empty line after it.
func (h Human) section(w io.Writer, s string) {
	if s != "" {
		fmt.Fprintf(w, "%s\n", h.Style.Text(s))
	}
}

func (h Human) backends(p *planner.Plan) string {
	var b strings.Builder
	width := 0
	for _, v := range p.Backends {
		width = max(width, len("backend.")+term.Width(v.Name))
	}
	for _, v := range p.Backends {
		name := "backend." + v.Name
		line := "  " + name + strings.Repeat(" ", width-term.Width(name)+3)
		if v.Problem != "" {
			line += "? unknown: " + term.CleanLine(v.Problem)
		} else {
			line += v.Summary
		}
		if v.Facts != "" {
			line += strings.Repeat(" ", max(2, headWidth-term.Width(line)-term.Width(v.Facts))) + v.Facts
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if v.Fallback != "" {
			b.WriteString("    " + v.Fallback + "\n")
		}
	}
	return b.String()
}

// summary is the stable last word of a plan; scripts grep it. Its grammar is
// in docs/reference/plan.md.
func summary(p *planner.Plan) string {
	c := p.Counts
	if !c.Changes() && c.Held+c.Blocked+c.Unknown+c.Missing == 0 {
		if c.Total == 0 {
			return "Nothing to do: the campaign has no jobs."
		}
		return fmt.Sprintf("Nothing to do: %s done and verified.", jobs(c.Unchanged, "is", "are"))
	}
	s := fmt.Sprintf("Plan: %s to run, %s to re-run, %s to cancel, %s unchanged", count(c.Run+c.Retry), count(c.Rerun), count(c.Cancel), count(c.Unchanged))
	for _, more := range []struct {
		n    int
		text string
	}{
		{c.Continue, "running on"}, {c.Resubmit, "to resubmit"}, {c.Adopt, "to adopt"}, {c.Move, "moved"}, {c.Accept, "accepted"}, {c.Record, "to record"},
		{c.Held, "held"}, {c.Blocked, "blocked"}, {c.Unknown, "unknown"}, {c.Missing, "missing"}, {c.Bytes, "with changed input bytes"}, {c.Forget, "to forget"}, {c.Release, "to release"},
	} {
		if more.n > 0 {
			s += fmt.Sprintf(", %s %s", count(more.n), more.text)
		}
	}
	s += "."
	if c.Selected < c.Total {
		s += fmt.Sprintf("\n%s of %s selected; the others are left as they are.", count(c.Selected), jobs(c.Total, "", ""))
	}
	return s
}

func (h Human) notes(p *planner.Plan) string {
	var b strings.Builder
	for _, n := range p.Notes {
		b.WriteString(foldIndent(n))
	}
	for _, check := range p.Budgets {
		for _, text := range slices.Concat(check.Broken, check.Warn) {
			b.WriteString(foldIndent(fmt.Sprintf("budget %q: %s", check.Name, text)))
		}
	}
	return b.String()
}

func (h Human) basis(p *planner.Plan) string {
	var b strings.Builder
	for _, text := range p.Forecast.Basis {
		for i, line := range fold(text, headWidth-4) {
			mark := "    "
			if i == 0 {
				mark = "  * "
			}
			b.WriteString(mark + line + "\n")
		}
	}
	return b.String()
}

// fold breaks text at spaces into lines of at most width columns.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case term.Width(line)+1+term.Width(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func foldIndent(s string) string {
	return "  " + strings.Join(fold(s, headWidth-2), "\n  ") + "\n"
}

// jobs is "1 job" or "24 jobs", with a verb where one is given.
func jobs(n int, one, many string) string {
	word, verb := "jobs", many
	if n == 1 {
		word, verb = "job", one
	}
	return strings.TrimSpace(count(n) + " " + word + " " + verb)
}

// plural is "1 job" or "24 jobs".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return count(n) + " " + what
}

// count prints a number with thousands separated.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
