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
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// BackendStatus is the status and place of a job that has not ended, as its backend says; "" when
// that was not asked, or it has ended.
func BackendStatus(seen observed.Refresh, job *state.Job, now time.Time) string {
	if job == nil {
		return ""
	}
	o, ok := seen.Observation(job)
	if !ok || o.Presence != offer.Found || o.Status != offer.Queued && o.Status != offer.Running {
		return ""
	}
	where := strings.TrimSuffix(job.Last().Backend+", "+o.Pool, ", ")
	text := string(o.Status) + " on " + where
	if o.Status == offer.Queued && o.Stage == offer.Accepted {
		text = "not submitted yet to " + where
	}
	if o.Handle != "" {
		text += " as " + o.Handle
	}
	if o.Node != "" {
		text += ", node " + o.Node
	}
	s := JobStatus{Reason: o.Reason}
	switch {
	case o.Status == offer.Queued:
		s.Start = o.Expected
	case !o.Started.IsZero():
		text += ", for " + units.FormatDuration(max(0, now.Sub(o.Started)).Round(time.Second))
	}
	return term.Join(": ", text, term.Join("; ", reasons(s, now)...))
}

// ExplanationText is the page of one job; status is where it is now.
func ExplanationText(x explain.Job, status string, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %s", term.CleanLine(x.Address))
	if x.Label != "" && x.Label != x.Address {
		label, gap := "("+term.CleanLine(x.Label)+")", "   "
		if term.Width(b.String()+gap+label) > width {
			gap = "\n  "
		}
		b.WriteString(gap + label)
	}
	fmt.Fprintf(&b, "\n\n  %s", view.Word(x.Kind))
	say := func(text string) {
		fmt.Fprintf(&b, "\n      %s", strings.Join(aroundCommands(term.CleanLine(text), width-6), "\n      "))
	}
	for _, r := range x.Detail.Reasons {
		say(r.Text())
	}
	for _, line := range strings.Split(strings.TrimSpace(x.Detail.Text), "\n") {
		if line != "" {
			say(line)
		}
	}
	if status != "" {
		say(status)
	}
	b.WriteString("\n")
	if !strings.Contains(b.String(), "muster resume") {
		b.WriteString(wayOn(x, width))
	}
	b.WriteString(wayToAdopt(x, width))
	for _, n := range x.Notes {
		b.WriteString("\n" + wrapped("  note: ", "        ", noteLine(n), width))
	}
	explainPlace(&b, x, width)
	explainWaits(&b, x, width)
	b.WriteString("\n  What determines its result  (" + x.Result.String() + ")\n")
	names := 0
	for _, f := range x.Fields {
		names = max(names, term.Width(f.Name))
	}
	last := ""
	for _, f := range x.Fields {
		name := f.Name
		if name == last { // one more file of an input
			name = ""
		}
		last = f.Name
		// As it is, line by line: it is meant to be read whole and copied.
		for line := range strings.Lines(strings.TrimRight(f.Text, "\n") + "\n") {
			b.WriteString(strings.TrimRight("    "+name+strings.Repeat(" ", names-term.Width(name)+2)+term.CleanLine(strings.TrimSuffix(line, "\n")), " ") + "\n")
			name = ""
		}
	}
	return b.String()
}

// wayOn is the command that lets a held job start: alone, or with its phase.
func wayOn(x explain.Job, width int) string {
	j := x.Detail.State
	switch {
	case x.Kind != planner.HeldKind:
		return ""
	case j != nil && (j.Status == state.Failed || j.Status == state.Held):
		address := shell.Enclose(term.CleanLine(x.Address))
		return fmt.Sprintf("\n  Its command, ready to paste: muster explain -command %s\n  When you have fixed the cause: muster resume %s, then muster apply\n", address, address)
	case x.Held:
		phase, _, _ := strings.Cut(strings.TrimPrefix(x.Address, "phase."), "[")
		return "\n" + wrapped("  ", "  ", fmt.Sprintf("When you have fixed the cause: muster resume, then muster apply. To let it pass without a fix: muster override -reason=TEXT %s", phase), width)
	}
	return ""
}

// wayToAdopt is how the files of a job become its result whose program exited with 0 and
// whose outputs were not accepted.
func wayToAdopt(x explain.Job, width int) string {
	j := x.Detail.State
	if x.Kind != planner.HeldKind || j == nil {
		return ""
	}
	if last := j.Last(); last == nil || last.Class != failure.BadOutput || len(last.Left) == 0 {
		return ""
	}
	phase, _, _ := strings.Cut(x.Address, "[")
	return wrapped("  ", "  ", fmt.Sprintf("If its files are right and a check or metric of the campaign is wrong: correct that block, add import { to = %s }, then muster apply: the files become results, and nothing runs again", phase), width)
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

func explainPlace(b *strings.Builder, x explain.Job, width int) {
	d := x.Decision
	if j := x.Detail.State; j.Adopted() && !x.Goes {
		b.WriteString("\n" + wrapped("  ", "  ", "Its files were "+adoptionOf(j).text()+".", width))
	} else if at := j.Last(); at != nil && at.Why != "" && !x.Goes {
		b.WriteString("\n" + wrapped("  ", "  ", fmt.Sprintf("Went to %s: %s", strings.TrimSuffix(at.Backend+", "+at.Pool, ", "), at.Why), width))
	}
	for _, l := range x.Without {
		b.WriteString("\n" + wrapped("  ", "  ", "It "+l.Text(), width))
	}
	switch {
	case d.Backend == "" && d.Away != "":
		b.WriteString("\n" + wrapped("  ", "  ", "Waits for a place: "+d.Away, width))
	case d.Backend == "":
		b.WriteString("\n  Fits nowhere\n")
	default:
		goes := "Goes to"
		if !x.Goes {
			goes = "If it were run now, it would go to"
		}
		why := fmt.Sprintf("%s %s: %s", goes, strings.TrimSuffix(d.Backend+", "+d.Pool, ", "), d.Why)
		b.WriteString("\n" + wrapped("  ", "  ", why, width))
	}
	b.WriteString(wrapped("    ", "    ", d.Fallback, width))
	rows, whys := candidates(d, costText)
	if slices.ContainsFunc(strings.Split(rows, "\n"), func(l string) bool { return term.Width(l) > width }) {
		rows, whys = candidates(d, shortCost)
	}
	for i, line := range strings.Split(strings.TrimSuffix(rows, "\n"), "\n") {
		if i == len(whys) { // there was none
			break
		}
		if term.Width(line)+2+term.Width(whys[i]) > width {
			line = strings.TrimRight(line, " ") + "\n" + strings.Repeat(" ", 9)
			whys[i] = strings.Join(term.Wrap(whys[i], width-9), "\n"+strings.Repeat(" ", 9))
		} else {
			line += "  "
		}
		b.WriteString(line + whys[i] + "\n")
	}
	if text := view.Amounts(x.Ceiling); text != "" {
		b.WriteString(wrapped("    ", "    ", fmt.Sprintf("at most %s in %s%s", text, launches(max(x.Attempts, 1)), unpriced(x)+byProfile(x)), width))
	}
}

// candidates is a row for each place that was compared, and why it won or lost.
func candidates(d place.Decision, costs func(c map[string]string, unknown, guessed []string) string) (rows string, whys []string) {
	t := term.Table{Indent: "    "}
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
		cost := costs(c.Cost, c.Unknown(d.Shape), guessed(c.Price, c.Cost))
		if d.Shape.Walltime == 0 && c.Cost != nil {
			cost = "cost unknown" // compared at an hour each
		}
		t.Row(mark, strings.TrimSuffix(c.Backend+", "+c.Pool, ", "), cost, wait)
		whys = append(whys, term.CleanLine(why))
	}
	return t.String(), whys
}

// byProfile says that the most that a job may take is an estimate.
func byProfile(x explain.Job) string {
	if len(guessedCeiling(x)) == 0 {
		return ""
	}
	return "; estimated, by a guessed price"
}

// unpriced says which units the most that a job may take leaves out, or counts of
// some of its candidates alone.
func unpriced(x explain.Job) string {
	var out string
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		switch {
		case x.Priced.Of(unit):
		case x.Ceiling[unit] == "":
			out += "; its use in " + amount.Unit(unit) + " is unknown"
		default:
			out += "; where the price in " + amount.Unit(unit) + " is not known, more"
		}
	}
	return out
}

// shortCost leaves out the cores beside the GPUs.
func shortCost(c map[string]string, unknown, guessed []string) string {
	if amount.Of(c["gpu_hours"]).IsPositive() {
		c = maps.Clone(c)
		delete(c, "cpu_hours")
	}
	return costText(c, unknown, guessed)
}

func costText(c map[string]string, unknown, guessed []string) string {
	var parts []string
	for _, u := range []string{"usd", "service_units", "gpu_hours", "cpu_hours"} {
		if text := view.Amount(u, c[u]); text != "" {
			if slices.Contains(guessed, u) {
				text += " (estimated)"
			}
			parts = append(parts, text)
		}
	}
	for _, u := range unknown {
		parts = append(parts, amount.Unit(u)+" unknown")
	}
	return strings.Join(parts, ", ")
}

func explainWaits(b *strings.Builder, x explain.Job, width int) {
	if x.Smoke != "" && !x.Held { // else it is above
		b.WriteString("\n" + wrapped("  ", "  ", "Gate: "+x.Smoke, width))
	}
	for _, text := range x.Barred {
		b.WriteString("\n" + wrapped("  ", "  ", "Waits: "+text, width))
	}
	for _, w := range x.Waits {
		if w.Open == 0 {
			fmt.Fprintf(b, "\n  %s: all %d done\n", w.On, w.Jobs)
			continue
		}
		text := fmt.Sprintf("Waits for %s: %d of %d not done, first %s", w.On, w.Open, w.Jobs, w.Address)
		if w.Required < w.Jobs {
			text = fmt.Sprintf("%s: %d of %d done, %d required; not done is %s", w.On, w.Jobs-w.Open, w.Jobs, w.Required, w.Address)
		}
		if how := waitedFor[w.Kind]; how != "" {
			text += ", which " + how
		}
		b.WriteString("\n" + wrapped("  ", "  ", text, width))
	}
	if len(x.Unlocks) > 0 {
		b.WriteString("\n" + wrapped("  ", "  ", "Read by "+strings.Join(x.Unlocks, ", "), width))
	}
}

// waitedFor says of a job that another waits for whether it comes by itself.
var waitedFor = map[planner.Kind]string{
	planner.HeldKind: "is held", planner.Blocked: "is blocked itself", planner.Continue: "is under way", planner.UnknownAt: "cannot be asked about",
	planner.Missing: "lacks a file that it made", planner.Altered: "has an output that holds other bytes now", planner.Skipped: "is not selected", planner.Restore: "gets an earlier result back", planner.AdoptFiles: "adopts existing files",
}

func launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}
