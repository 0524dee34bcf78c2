package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/view"
)

// AdviceText is the page of `muster advise`.
func AdviceText(r advice.Report, width, row int) string {
	var b strings.Builder
	var phases []historyReport
	for _, h := range r.Phases {
		phases = append(phases, historyReportOf(h))
	}
	for _, work := range []string{"cpu", "gpu"} {
		if text := historyTable(phases, work, row); text != "" {
			fmt.Fprintf(&b, "\n  %s work\n%s", strings.ToUpper(work), text)
		}
	}
	for i, p := range r.Proposals {
		fmt.Fprintf(&b, "\n%s", proposalText(i+1, p, width))
	}
	if len(r.Proposals) == 0 {
		b.WriteString("\n" + wrapped("", "", "Nothing to change: "+nothingToSay(r)+".", width))
	}
	for _, n := range r.Notes {
		b.WriteString("\n" + wrapped("  ", "  ", n, width))
	}
	return b.String()
}

// nothingToSay says what silence rests on.
func nothingToSay(r advice.Report) string {
	if r.Launches == 0 {
		return "no launch of this campaign has ended yet"
	}
	return fmt.Sprintf("%s ended, and they used about as much as they requested, as far as muster measured it", launches(r.Launches))
}

// historyTable compares the requests of jobs of one kind with their use, and
// says where their time went.
func historyTable(phases []historyReport, work string, row int) string {
	t := term.Table{Indent: "    ", Width: row, Gap: "   ", Align: []term.Align{term.Left, term.Left, term.Right, term.Right, term.Right, term.Right}}
	t.Row("", "", "requested", "median", "most", "all jobs")
	rows, after := 1, map[int]string{} // by row: the text below it, across the columns
	for _, h := range phases {
		if h.Work != work {
			continue
		}
		head := "phase." + h.Phase
		for _, u := range h.Uses {
			most := usedText(u, u.Most)
			if u.Measured == 0 {
				most = "–" // once is enough
			}
			t.Row(head, u.What, askedText(u), usedText(u, u.Median), most)
			head, rows = "", rows+1
		}
		for _, part := range []struct {
			name        string
			median, sum float64
		}{{"queue", h.Median.Queue, h.Sum.Queue}, {"run", h.Median.Run, h.Sum.Run}, {"retries", h.Median.Retry, h.Sum.Retry}} {
			t.Row(head, part.name, "", secs(part.median), "", secs(part.sum))
			head, rows = "", rows+1
		}
		after[rows] = "      " + launchesText(h) + "\n"
	}
	if len(after) == 0 {
		return ""
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(t.String()) {
		n++
		b.WriteString(line + after[n])
	}
	return b.String()
}

func launchesText(h historyReport) string {
	s := fmt.Sprintf("%d of %d done, %s", h.Done, h.Jobs, launches(h.Launches))
	if h.Segments > 0 {
		s += fmt.Sprintf(", %d gone on with at their walltime", h.Segments)
	}
	if h.Failed > 0 {
		s += fmt.Sprintf(", %d failed", h.Failed)
	}
	return s
}

func askedText(u useReport) string {
	switch {
	case u.Asked == 0:
		return "–"
	case u.Least < u.Asked && u.Least == 0:
		return "up to " + quantityOf(u.What, u.Asked)
	case u.Least < u.Asked:
		return quantityOf(u.What, u.Least) + " to " + quantityOf(u.What, u.Asked)
	}
	return quantityOf(u.What, u.Asked)
}

func usedText(u useReport, v float64) string {
	switch {
	case u.Measured == 0 && u.Short > 0:
		return "too short to measure"
	case u.Measured == 0:
		return "not measured"
	}
	return quantityOf(u.What, v)
}

func quantityOf(what string, v float64) string {
	switch what {
	case "cores":
		return fmt.Sprintf("%.3g", v)
	case "walltime":
		return secs(v)
	}
	return units.FormatSize(int64(v))
}

func proposalText(n int, p advice.Proposal, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. phase.%s: %s\n", n, p.Phase, p.Title)
	if p.Jobs != "" {
		fmt.Fprintf(&b, "     for %s\n", p.Jobs)
	}
	b.WriteString(editText(p.Edit))
	b.WriteString("\n" + wrapped("     ", "     ", p.Why, width))
	if p.Margin != "" {
		b.WriteString(wrapped("     margin: ", "             ", p.Margin, width))
	}
	for _, s := range p.Saves {
		b.WriteString(wrapped("     saves: ", "            ", savingText(s), width))
	}
	if len(p.Saves) == 0 && p.Kind != "failure" && p.Kind != "promote" {
		b.WriteString("     saves: nothing measurable\n")
	}
	return b.String()
}

// editText is the line to change, as a diff.
func editText(e advice.Edit) string {
	var b strings.Builder
	if e.Line == 0 {
		for line := range strings.Lines(e.After) { // to paste as it is
			b.WriteString("\n     " + term.CleanLine(strings.TrimSuffix(line, "\n")))
		}
		if e.After != "" {
			b.WriteString("\n")
		}
		return b.String()
	}
	at := ""
	if e.Before == "" && e.After != "" {
		at = "below "
	}
	fmt.Fprintf(&b, "\n     %s%s:%d\n", at, term.CleanLine(e.File), e.Line)
	if e.Before != "" {
		fmt.Fprintf(&b, "     - %s\n", term.CleanLine(e.Before))
	}
	for line := range strings.Lines(e.After) {
		fmt.Fprintf(&b, "     + %s\n", term.CleanLine(strings.TrimSuffix(line, "\n")))
	}
	if e.After == "" && e.Value != "" {
		fmt.Fprintf(&b, "       the value is not the same for all jobs: make it %s for these\n", e.Value)
	}
	return b.String()
}

func savingText(s advice.Saving) string {
	text := view.Amount(s.Unit, s.Amount)
	if s.Unit == advice.WaitHours || s.Unit == advice.RunHours {
		text = map[string]string{advice.WaitHours: "waits of ", advice.RunHours: "runs of "}[s.Unit] + hoursText(s.Amount)
	}
	if s.Estimated {
		text += " (estimated, by a guessed price)"
	}
	if s.AtMost {
		text = "the most that a plan allows falls by " + text
	}
	return text + " " + s.Of
}

func hoursText(amount string) string {
	d, err := decimal.NewFromString(amount)
	if err != nil {
		return amount + "h"
	}
	return units.FormatDuration(time.Duration(d.Mul(decimal.NewFromInt(int64(time.Hour))).IntPart()).Round(time.Second))
}

// wrapped folds text behind a first and a following indent.
func wrapped(first, next, text string, width int) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	lead := first
	for _, line := range term.Wrap(term.CleanLine(text), width-term.Width(first)) {
		b.WriteString(lead + line + "\n")
		lead = next
	}
	return b.String()
}
