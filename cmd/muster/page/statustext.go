package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/failure"
)

// Statuses is how statuses are listed.
var Statuses = []string{"completed", "running", "verifying", "queued", "submitting", "waiting", "pending", old, "failed", "held", blocked, "cancelled", unknown}

// shownJobs is how many jobs of one status are listed unless every one is
// asked for.
const shownJobs = 10

// Text is the page of `muster status` at a time; every: with each job.
func (r Status) Text(style term.Style, now time.Time, every bool) string {
	var b strings.Builder
	row := max(style.Row, style.Width)
	fmt.Fprintf(&b, "\ncampaign %q\n\n%s", r.Campaign, phaseTable(r.Phases, row))
	if r.selected != "" {
		fmt.Fprintf(&b, "\n%s\n", r.selected)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unreachable)) {
		fmt.Fprintf(&b, "\n? backend.%s cannot be asked: %s\n", name, term.CleanLine(r.Unreachable[name]))
	}
	for _, text := range r.Findings {
		fmt.Fprintf(&b, "\n! %s\n", strings.Join(term.Wrap(term.CleanLine(text), style.Width-2), "\n  "))
	}
	if text := emptyText(r.Empty); text != "" {
		fmt.Fprintf(&b, "\n! %s\n", strings.Join(term.Wrap(text, style.Width-2), "\n  "))
	}
	for _, p := range r.Pauses {
		fmt.Fprintf(&b, "\n! nothing starts on backend.%s since %s, until its workdir takes files: %s\n", p.Backend, units.FormatTime(p.At.Local()), term.CleanLine(p.Reason))
	}
	b.WriteString(jobTable(r.Jobs, now, row, every))
	for _, h := range r.Holds {
		lift := "muster resume"
		if h.Cancel {
			lift += " " + shell.Enclose(term.CleanLine(h.Address))
		}
		fmt.Fprintf(&b, "\n! hold on %s by %s%s; clear it: %s\n", term.CleanLine(orEverything(h.Address)), h.Who, because(h.Reason), lift)
	}
	if text := stillRented(r.Rentals, r.backends); text != "" {
		b.WriteString("\n" + term.Fold(text, style.Width))
	}
	if len(r.SharedBudgets) > 0 {
		b.WriteString("\n")
	}
	for _, shared := range r.SharedBudgets {
		b.WriteString(shared.text())
	}
	for _, r := range r.Replaced {
		b.WriteString(r.text())
	}
	return b.String()
}

// phaseTable has a line for each phase; long notes continue below.
func phaseTable(phases []PhaseStatus, width int) string {
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	var rest []string
	for _, p := range phases {
		var parts []string
		for _, s := range Statuses {
			if n := p.Counts[s]; n > 0 && s != "completed" {
				parts = append(parts, fmt.Sprintf("%d %s", n, s))
			}
		}
		for _, mark := range []history.Mark{history.Late, history.Overdue, history.Suspect} {
			if n := p.Counts[string(mark)]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, mark))
			}
		}
		if p.Note != "" {
			parts = append(parts, term.CleanLine(p.Note))
		}
		t.Row("phase."+p.Phase, fmt.Sprintf("%d of %d", p.Counts["completed"], p.Jobs), "done")
		rest = append(rest, strings.Join(parts, ", "))
	}
	if len(rest) == 0 {
		return ""
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n") {
		if rest[i] != "" {
			line += "  "
			beside := max(width-term.Width(line), 20)
			line += strings.Join(term.Wrap(rest[i], beside), "\n"+strings.Repeat(" ", term.Width(line)))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + term.CleanLine(reason)
}

// jobTable lists jobs by status: a line each, with the reason beside it, or below
// it where it does not fit.
func jobTable(jobs []JobStatus, now time.Time, width int, every bool) string {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(x, y JobStatus) int { return slices.Index(Statuses, x.Status) - slices.Index(Statuses, y.Status) })
	if !every {
		jobs = gathered(jobs)
	}
	seen := map[string]int{}
	t := term.Table{Indent: "  "}
	var shown []JobStatus
	var rows [][]string
	for _, j := range jobs {
		if j.Status == "completed" && j.Mark == "" && !every {
			continue
		}
		if seen[j.Status]++; seen[j.Status] > shownJobs && !every {
			continue
		}
		rows = append(rows, []string{j.Status, term.CleanLine(j.Address), term.CleanLine(placed(j)), since(j, now)})
		shown = append(shown, j)
	}
	room := width - len(t.Indent) - beside(rows)
	for i, row := range rows {
		more := shown[i].more()
		t.Row(row[0], term.FitMiddle(row[1], max(room-term.Width(more), leastName))+more, row[2], row[3])
	}
	if len(shown) == 0 {
		return ""
	}
	b := strings.Builder{}
	b.WriteString("\n")
	for i, line := range strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n") {
		b.WriteString(withReasons(line, width, reasons(shown[i], now)))
	}
	for _, s := range Statuses {
		if n := seen[s]; n > shownJobs && !every {
			fmt.Fprintf(&b, "  %s: %d more; -verbose shows every job\n", s, n-shownJobs)
		}
	}
	return b.String()
}

// leastName is how much of a job's name is always shown, in columns.
const leastName = 24

// beside is how much the columns of jobs take but their names: a long name is
// shortened, so that the other words can be read in every line.
func beside(rows [][]string) (width int) {
	var most [4]int
	for _, row := range rows {
		for i, cell := range row {
			most[i] = max(most[i], term.Width(cell))
		}
	}
	return most[0] + most[2] + most[3] + 3*len("  ")
}

// gathered puts blocked jobs that wait for the same into one line.
func gathered(jobs []JobStatus) []JobStatus {
	first := map[string]int{} // by reason, where in out
	var out []JobStatus
	for _, j := range jobs {
		if i, ok := first[j.Reason]; ok && j.Status == blocked {
			out[i].alike++
			continue
		}
		if j.Status == blocked {
			first[j.Reason] = len(out)
		}
		out = append(out, j)
	}
	return out
}

func (j JobStatus) more() string {
	if j.alike == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", j.alike)
}

// reasonLines is how many lines one reason may take; muster logs has the rest.
const reasonLines = 4

// withReasons puts a single reason beside a line if both fit, else reasons
// below it.
func withReasons(line string, width int, reasons []string) string {
	if len(reasons) == 1 && term.Width(line)+2+term.Width(reasons[0]) <= width {
		return line + "  " + reasons[0] + "\n"
	}
	const indent = "      "
	text := term.Fit(line, width) + "\n"
	for _, r := range reasons {
		lines := term.Wrap(r, width-len(indent))
		if len(lines) > reasonLines {
			lines = append(lines[:reasonLines], "…")
		}
		text += indent + strings.Join(lines, "\n"+indent) + "\n"
	}
	return text
}

// since is how long a job has stood as it does.
func since(j JobStatus, now time.Time) string {
	if j.Since.IsZero() {
		return ""
	}
	d := units.FormatDuration(max(0, now.Sub(j.Since)).Round(time.Second))
	if j.Status == unknown {
		return "since " + d
	}
	return d + " ago"
}

func placed(j JobStatus) string {
	s := j.Backend
	if j.Pool != "" {
		s += ", " + j.Pool
	}
	if len(j.GPUs) > 0 {
		s += ", GPU " + strings.Join(j.GPUs, " ")
	}
	return s
}

// reasons are the lines about why a job has its status: how and why it ended, and
// the telling line of its log.
func reasons(j JobStatus, now time.Time) (lines []string) {
	tail := failure.Telling(j.Tail, j.Exit)
	ended := term.Join(", ", j.Class, exitText(j))
	reason := j.Reason // of a held job it says all three
	for _, known := range []string{ended, j.Class} {
		reason = strings.TrimPrefix(strings.TrimPrefix(reason, known), ": ")
	}
	if tail != "" {
		reason = strings.TrimSuffix(strings.TrimSuffix(reason, tail), ": ")
	}
	if j.Attempt > 1 && ended != "" {
		ended += fmt.Sprintf(", attempt %d", j.Attempt)
	}
	again := ""
	if !j.Retry.IsZero() {
		again = "next start is due"
		if wait := j.Retry.Sub(now).Round(time.Second); wait > 0 {
			again = "next start in " + units.FormatDuration(wait)
		}
	}
	start := ""
	if j.Start.After(now) {
		start = "expected to start in " + units.FormatDuration(j.Start.Sub(now).Round(time.Second))
	}
	for _, line := range []string{term.Join("; ", term.Join(": ", ended, reason), start, again, j.markText()), tail} {
		if line = term.CleanLine(strings.TrimSpace(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func exitText(j JobStatus) string {
	switch {
	case j.Signal != "":
		return j.Signal
	case j.Exit != nil:
		return fmt.Sprintf("exit %d", *j.Exit)
	}
	return ""
}
