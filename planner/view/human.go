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

// narrowest is the least a plan is laid out for; what is narrower still cuts
// or wraps its lines.
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
	if foretold(p) {
		h.section(lw, h.cost(p))
		h.section(lw, h.basis(p))
		h.section(lw, h.gantt(p))
		if h.Verbose {
			h.section(lw, h.costParts(p))
			h.section(lw, h.faster(p))
		}
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

// What the head and the foot of a plan may take of the screen.
const (
	shownBackends = 10
	shownNotes    = 10
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
		if v.Problem != "" { // whole: at its end stands what to do
			b.WriteString(h.remark("  "+name, line, h.Style.Text("? unknown: "+term.CleanLine(v.Problem))))
		} else {
			line += term.CleanLine(v.Summary)
			if v.Facts != "" {
				line += strings.Repeat(" ", max(2, h.head()-term.Width(line)-term.Width(v.Facts))) + v.Facts
			}
			b.WriteString(h.fit(line))
		}
		if v.Fallback != "" {
			b.WriteString(h.remark("", "    ", term.CleanLine(fallback(p, v))))
		}
	}
	if n := len(p.Backends) - len(views); n > 0 {
		b.WriteString("  … and " + plural(n, "more backend") + "\n")
	}
	return b.String()
}

// fallback says why a backend's jobs go there, without the reason that stands
// with the backend they would have gone to.
func fallback(p *planner.Plan, v planner.BackendView) string {
	text := v.Fallback
	for _, other := range p.Backends {
		if other.Problem != "" {
			text = strings.ReplaceAll(text, " ("+other.Problem+")", "")
		}
	}
	return text
}

// summary is the stable last word of a plan; scripts grep it. Its grammar is
// in docs/reference/plan.md.
func summary(p *planner.Plan) string {
	c := p.Counts
	if p.RefreshOnly {
		return refreshSummary(c)
	}
	if !c.Changes() && c.Held+c.Blocked+c.Unknown+c.Missing+c.Altered+c.Bytes == 0 {
		switch {
		case p.Destroy:
			return "Nothing to do: no job runs or waits, and muster rents nothing."
		case c.Total == 0:
			return "Nothing to do: the campaign has no jobs."
		}
		return fmt.Sprintf("Nothing to do: %s done and verified.", jobs(c.Unchanged, "is", "are"))
	}
	s := fmt.Sprintf("Plan: %s to run, %s to re-run, %s to cancel, %s unchanged", count(c.Run+c.Retry), count(c.Rerun), count(c.Cancel), count(c.Unchanged))
	for _, more := range []struct {
		n    int
		text string
	}{
		{c.Continue, "running on"}, {c.Resubmit, "to resubmit"}, {c.Adopt, "to adopt"}, {c.Move, "moved"}, {c.Accept, "accepted"}, {c.Restore, "to restore"}, {c.Record, "to record"},
		{c.Held, "held"}, {c.Blocked, "blocked"}, {c.Unknown, "unknown"}, {c.Missing, "missing"}, {c.Altered, "with changed outputs"}, {c.Bytes, "with changed input bytes"}, {c.Forget, "to forget"}, {c.Release, "to release"},
		{c.Delete, "outputs to delete"},
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

// awaiting counts the held jobs that nobody has to let go: the backend where
// they would start cannot be asked.
func awaiting(p *planner.Plan) (n int) {
	if p.Counts.Held == 0 {
		return 0
	}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k == planner.HeldKind && pp.Decision(i).Away != "" {
				n++
			}
		}
	}
	return n
}

// AlteredWays says what can be done about outputs that hold other bytes than
// their jobs made.
func AlteredWays(jobsOf []string) string {
	return fmt.Sprintf("The outputs of %s hold other bytes than were recorded (≠ output changed); what reads them does not start. Put the recorded files back; "+
		"or keep the new ones: muster apply -accept='%s'; or make them again: muster apply -rerun='%s'.", jobs(len(jobsOf), "", ""), jobsOf[0], jobsOf[0])
}

// notes are what holds of the plan as a whole, and how its budgets stand.
func (h Human) notes(p *planner.Plan) string {
	notes := slices.Clone(p.Notes)
	if n := p.Counts.Held - awaiting(p); n > 0 && !p.RefreshOnly && !p.Destroy {
		notes = append(notes, fmt.Sprintf("%s: `muster explain ADDR` says why. Mend that, then `muster resume` lets go what is held.", jobs(n, "is held", "are held")))
	}
	if altered := p.Of(planner.Altered); len(altered) > 0 {
		notes = append(notes, AlteredWays(altered))
	}
	for _, text := range p.Asks {
		notes = append(notes, "needs a plan that is saved: "+text)
	}
	for i, check := range p.Budgets {
		if spent := Amounts(check.Spent); spent != "" && i < shownBudgets && p.Counts.Changes() {
			notes = append(notes, fmt.Sprintf("budget %q: %s spent before this plan", check.Name, spent))
		}
		for _, text := range slices.Concat(check.Broken, check.Warn) {
			notes = append(notes, fmt.Sprintf("budget %q: %s", check.Name, text))
		}
	}
	return h.some(notes, "  ", "  ", "more note")
}

// faster is what would make the plan end sooner, and for what.
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

// some folds texts, and counts those that would not fit the screen.
func (h Human) some(texts []string, first, next, what string) string {
	var b strings.Builder
	for i, text := range texts {
		if i == shownNotes && !h.Verbose && len(texts) > shownNotes+1 {
			b.WriteString(next + "… and " + plural(len(texts)-i, what) + "; -verbose shows them\n")
			break
		}
		lead := first
		for _, line := range term.Wrap(h.Style.Text(term.CleanLine(text)), h.head()-term.Width(first)) {
			b.WriteString(lead + line + "\n")
			lead = next
		}
	}
	return b.String()
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
