package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
)

// order is how statuses are listed.
var order = []string{"completed", "running", "verifying", "queued", "submitting", "waiting", "pending", "failed", "held", blocked, "cancelled", "unknown"}

// shownJobs is how many jobs of one status are listed unless every one is
// asked for.
const shownJobs = 10

func (a *app) printStatus(r statusReport, every bool) error {
	a.printf("\ncampaign %q\n\n%s", r.Campaign, phaseTable(r.Phases, a.out.Width))
	if r.selected != "" {
		a.printf("\n%s\n", r.selected)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unreachable)) {
		a.printf("\n? backend.%s cannot be asked: %s\n", name, term.CleanLine(r.Unreachable[name]))
	}
	for _, text := range r.Findings {
		a.printf("\n! %s\n", strings.Join(term.Wrap(term.CleanLine(text), a.out.Width-2), "\n  "))
	}
	for _, p := range r.Pauses {
		a.printf("\n! nothing starts on backend.%s since %s, until there is room: %s\n", p.Backend, p.At.Local().Format("15:04 on 2006-01-02"), term.CleanLine(p.Reason))
	}
	a.printf("%s", a.jobTable(r.Jobs, every))
	for _, h := range r.Holds {
		a.printf("\n! hold on %s by %s%s; clear it: muster resume\n", term.CleanLine(orEverything(h.Address)), h.Who, because(h.Reason))
	}
	return nil
}

// phaseTable is a line a phase; what does not fit beside it goes on below.
func phaseTable(phases []phaseStatus, width int) string {
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	var rest []string
	for _, p := range phases {
		var parts []string
		for _, s := range order {
			if n := p.Counts[s]; n > 0 && s != "completed" {
				parts = append(parts, fmt.Sprintf("%d %s", n, s))
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

// jobTable lists jobs by status: a line each, and below it why it stands so,
// where that does not fit beside it.
func (a *app) jobTable(jobs []jobStatus, every bool) string {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(x, y jobStatus) int { return slices.Index(order, x.Status) - slices.Index(order, y.Status) })
	if !every {
		jobs = gathered(jobs)
	}
	seen, now := map[string]int{}, a.now()
	t := term.Table{Indent: "  "}
	var shown []jobStatus
	for _, j := range jobs {
		if j.Status == "completed" && !every {
			continue
		}
		if seen[j.Status]++; seen[j.Status] > shownJobs && !every {
			continue
		}
		t.Row(j.Status, term.CleanLine(j.Address)+j.more(), placed(j), since(j, now))
		shown = append(shown, j)
	}
	if len(shown) == 0 {
		return ""
	}
	b := strings.Builder{}
	b.WriteString("\n")
	for i, line := range strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n") {
		b.WriteString(a.withReasons(line, reasons(shown[i], now)))
	}
	for _, s := range order {
		if n := seen[s]; n > shownJobs && !every {
			fmt.Fprintf(&b, "  %s: %d more; -verbose shows every job\n", s, n-shownJobs)
		}
	}
	return b.String()
}

// gathered puts blocked jobs that wait for the same into one line.
func gathered(jobs []jobStatus) []jobStatus {
	first := map[string]int{} // by reason, where in out
	var out []jobStatus
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

func (j jobStatus) more() string {
	if j.alike == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", j.alike)
}

// reasonLines is how many lines one reason may take; muster logs has the rest.
const reasonLines = 4

// withReasons puts a single reason beside a line if both fit, else reasons
// below it.
func (a *app) withReasons(line string, reasons []string) string {
	if len(reasons) == 1 && term.Width(line)+2+term.Width(reasons[0]) <= a.out.Width {
		return line + "  " + reasons[0] + "\n"
	}
	const indent = "      "
	text := term.Fit(line, a.out.Width) + "\n"
	for _, r := range reasons {
		lines := term.Wrap(r, a.out.Width-len(indent))
		if len(lines) > reasonLines {
			lines = append(lines[:reasonLines], "…")
		}
		text += indent + strings.Join(lines, "\n"+indent) + "\n"
	}
	return text
}

// since is how long a job has stood as it does.
func since(j jobStatus, now time.Time) string {
	if j.Since.IsZero() {
		return ""
	}
	d := units.FormatDuration(max(0, now.Sub(j.Since)).Round(time.Second))
	if j.Status == "unknown" {
		return "since " + d
	}
	return d + " ago"
}

func placed(j jobStatus) string {
	s := j.Backend
	if j.Pool != "" {
		s += ", " + j.Pool
	}
	if len(j.GPUs) > 0 {
		s += ", GPU " + strings.Join(j.GPUs, " ")
	}
	return s
}

// reasons are the lines about why a job stands as it does: how it ended and
// what for, and the last line of its log.
func reasons(j jobStatus, now time.Time) (lines []string) {
	tail := ""
	if len(j.Tail) > 0 {
		tail = j.Tail[len(j.Tail)-1]
	}
	ended := joined(", ", j.Class, exitText(j))
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
		again = "again in " + units.FormatDuration(max(0, j.Retry.Sub(now)).Round(time.Second))
	}
	start := ""
	if j.Start.After(now) {
		start = "expected to start in " + units.FormatDuration(j.Start.Sub(now).Round(time.Second))
	}
	for _, line := range []string{joined("; ", joined(": ", ended, reason), start, again), tail} {
		if line = term.CleanLine(strings.TrimSpace(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// joined leaves out what is empty.
func joined(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

func exitText(j jobStatus) string {
	switch {
	case j.Signal != "":
		return j.Signal
	case j.Exit != nil:
		return fmt.Sprintf("exit %d", *j.Exit)
	}
	return ""
}
