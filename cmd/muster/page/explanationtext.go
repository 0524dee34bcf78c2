package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Standing is where a job that has not ended is, as its backend says; "" when
// that was not asked, or it has ended.
func Standing(seen observed.Refresh, job *state.Job, now time.Time) string {
	if job == nil {
		return ""
	}
	o, ok := seen.Observation(job)
	if !ok || o.Presence != offer.Found || o.Status != offer.Queued && o.Status != offer.Running {
		return ""
	}
	text := string(o.Status) + " on " + strings.TrimSuffix(job.Last().Backend+", "+o.Pool, ", ")
	if o.Handle != "" {
		text += " as " + o.Handle
	}
	if o.Node != "" {
		text += ", node " + o.Node
	}
	s := JobStatus{Reason: o.Reason}
	if o.Status == offer.Queued {
		s.Start = o.Expected
	}
	return term.Join(": ", text, term.Join("; ", reasons(s, now)...))
}

// ExplanationText is the page of one job; standing is where it is now.
func ExplanationText(x explain.Job, standing string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %s", term.CleanLine(x.Address))
	if x.Label != "" && x.Label != x.Address {
		fmt.Fprintf(&b, "   (%s)", term.CleanLine(x.Label))
	}
	fmt.Fprintf(&b, "\n\n  %s", view.Word(x.Kind))
	say := func(text string) {
		fmt.Fprintf(&b, "\n      %s", strings.Join(aroundCommands(term.CleanLine(text), term.MaxWidth-6), "\n      "))
	}
	for _, r := range x.Detail.Reasons {
		say(r.Text())
	}
	for _, line := range strings.Split(strings.TrimSpace(x.Detail.Text), "\n") {
		if line != "" {
			say(line)
		}
	}
	if standing != "" {
		fmt.Fprintf(&b, "\n      %s", term.CleanLine(standing))
	}
	b.WriteString("\n")
	if j := x.Detail.State; x.Kind == planner.HeldKind && j != nil && (j.Status == state.Failed || j.Status == state.Held) && !strings.Contains(b.String(), "muster resume") {
		fmt.Fprintf(&b, "\n  When its cause is mended: muster resume '%s', then muster apply\n", term.CleanLine(x.Address))
	}
	explainPlace(&b, x)
	explainWaits(&b, x)
	b.WriteString("\n  What determines its result  (" + x.Result.String() + ")\n")
	t := term.Table{Indent: "    "}
	for _, f := range x.Fields {
		t.Row(f.Name, term.Fit(term.CleanLine(f.Text), 70))
	}
	b.WriteString(t.String())
	return b.String()
}

// aroundCommands folds a text, but no command in backquotes: it is meant to be copied.
func aroundCommands(text string, width int) []string {
	const glue = "\ue000" // of the private use area: in no text
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", glue)
	}
	lines := term.Wrap(strings.Join(parts, "`"), width)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], glue, " ")
	}
	return lines
}

func explainPlace(b *strings.Builder, x explain.Job) {
	d := x.Decision
	if at := x.Detail.State.Last(); at != nil && at.Why != "" && !x.Goes {
		fmt.Fprintf(b, "\n  Went to %s: %s\n", strings.TrimSuffix(at.Backend+", "+at.Pool, ", "), term.CleanLine(at.Why))
	}
	if d.Backend != "" {
		goes := "Goes to"
		if !x.Goes {
			goes = "If it were run now, it would go to"
		}
		why := fmt.Sprintf("%s %s: %s", goes, strings.TrimSuffix(d.Backend+", "+d.Pool, ", "), d.Why)
		fmt.Fprintf(b, "\n  %s\n", strings.Join(term.Wrap(why, term.MaxWidth-2), "\n  "))
	}
	if d.Fallback != "" {
		fmt.Fprintf(b, "    %s\n", strings.Join(term.Wrap(term.CleanLine(d.Fallback), term.MaxWidth-4), "\n    "))
	}
	t := term.Table{Indent: "    "}
	var whys []string
	for _, c := range d.Candidates {
		mark, why := " ", c.Why
		if c.Won {
			mark, why = "*", "chosen"
		}
		if c.Would != "" {
			why += "; would fit: " + c.Would
		}
		wait := "wait unknown"
		if c.Cost == nil { // it was not compared
			wait = ""
		}
		if c.Wait >= 0 {
			wait = "wait " + units.ShortDuration(c.Wait)
		}
		cost := costText(c.Cost)
		if d.Shape.Walltime == 0 && c.Cost != nil {
			cost = "cost unknown" // compared at an hour each
		}
		t.Row(mark, strings.TrimSuffix(c.Backend+", "+c.Pool, ", "), cost, wait)
		whys = append(whys, term.CleanLine(why))
	}
	for i, line := range strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n") {
		if i == len(whys) { // there was none
			break
		}
		if term.Width(line)+2+term.Width(whys[i]) > term.MaxWidth {
			line = strings.TrimRight(line, " ") + "\n" + strings.Repeat(" ", 9)
			whys[i] = strings.Join(term.Wrap(whys[i], term.MaxWidth-9), "\n"+strings.Repeat(" ", 9))
		} else {
			line += "  "
		}
		b.WriteString(line + whys[i] + "\n")
	}
	if text := view.Amounts(x.Ceiling); text != "" {
		fmt.Fprintf(b, "    at most %s in %s\n", text, launches(max(x.Attempts, 1)))
	}
}

func costText(c map[string]string) string {
	var parts []string
	for _, u := range []string{"usd", "service_units", "gpu_hours", "cpu_hours"} {
		if text := view.Amount(u, c[u]); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

func explainWaits(b *strings.Builder, x explain.Job) {
	if x.Smoke != "" {
		fmt.Fprintf(b, "\n  Gate: %s\n", term.CleanLine(x.Smoke))
	}
	for _, text := range x.Barred {
		fmt.Fprintf(b, "\n  %s\n", strings.Join(term.Wrap("Waits: "+term.CleanLine(text), term.MaxWidth-2), "\n  "))
	}
	for _, w := range x.Waits {
		if w.Open == 0 {
			fmt.Fprintf(b, "\n  %s: all %d done\n", w.On, w.Jobs)
			continue
		}
		fmt.Fprintf(b, "\n  Waits for %s: %d of %d not done, first %s\n", w.On, w.Open, w.Jobs, term.CleanLine(w.Address))
	}
	if len(x.Unlocks) > 0 {
		fmt.Fprintf(b, "\n  Read by %s\n", strings.Join(x.Unlocks, ", "))
	}
}

func launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}
