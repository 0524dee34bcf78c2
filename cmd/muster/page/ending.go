package page

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/shell"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/remarks"
	"github.com/muster-run/muster/planner/view"
)

// Ending is the last words of a run, of the plan saved in a file or of one made
// for it (""): how it ended, and the results; after a destroy what is billed on
// at the backends, since no plan ends it.
func Ending(p *planner.Plan, o standing.Outcome, saved string, backends []*lang.Backend, width int) string {
	text := conclusion(o, p.Of(planner.Missing), p.Of(planner.Altered), saved)
	if p.Destroy && o.Stopped == standing.None {
		text = term.Join("\n", strings.TrimSuffix(destroyed(o), "\n"), remarks.NotOurs(backends)) + "\n"
	}
	text = "\n" + term.Fold(text, width)
	for _, r := range o.Results {
		text += resultLine(r, width)
	}
	return text
}

// destroyed is the last word of a destroy that came to its end.
func destroyed(o standing.Outcome) string {
	text := fmt.Sprintf("Destroyed: %d jobs cancelled", o.Cancelled)
	if o.Cancelled == 1 {
		text = "Destroyed: 1 job cancelled"
	}
	if o.Deleted > 0 {
		text += fmt.Sprintf(", %d outputs deleted", o.Deleted)
	}
	if o.Undeleted > 0 {
		text += fmt.Sprintf(", %d outputs not deleted", o.Undeleted)
	}
	return text + ".\n"
}

// conclusion is the last word of a run. A saved plan that has not come to its end
// is carried on with by its file: what was approved stays approved.
func conclusion(o standing.Outcome, missing, altered []string, saved string) string {
	var b strings.Builder
	again := "muster apply"
	if saved != "" {
		again += " " + shell.Quote(saved)
	}
	head := Headline(o)
	if head == "Done" && len(missing) > 0 {
		head = "Done, but for files that are gone"
	}
	if head == "Done" && o.Altered > 0 {
		head = "Done, but for outputs that changed"
	}
	fmt.Fprintf(&b, "%s: %d of %d jobs done and verified", head, o.Done, o.Total)
	for _, c := range []struct {
		n    int
		word string
	}{{o.Failed, "failed"}, {o.Held, "held"}, {o.Cancelled, "cancelled"}, {o.Blocked, "blocked"}, {o.Altered, "with changed outputs"}, {o.Unknown, "unknown"}, {o.Running, "running"}, {o.Queued, "queued"}, {o.HeldThere, "held in the queue"}, {o.Unsent, "not submitted"}, {o.Left, "left"}} {
		if c.n > 0 {
			fmt.Fprintf(&b, ", %d %s", c.n, c.word)
		}
	}
	b.WriteString(".\n")
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Outputs of %s are not there any more (? missing). To make them again:\n\n    muster apply -rerun='%s'\n", units.Count(len(missing), "job"), missing[0])
	}
	if len(altered) > 0 {
		b.WriteString(view.AlteredWays(altered) + "\n")
	}
	if o.Why != "" {
		fmt.Fprintf(&b, "%s\n", diag.Sentence(o.Why))
	}
	if o.Stopped == standing.Interrupted || o.Stopped == standing.Detached || o.Stopped == standing.LeaseLost || o.Stopped == standing.StoreFailed {
		b.WriteString(goingOn(o))
	}
	if o.UnsentWhy != "" {
		fmt.Fprintf(&b, "Not submitted: %s.\n", strings.TrimSuffix(o.UnsentWhy, "."))
	}
	if o.HeldWhy != "" {
		fmt.Fprintf(&b, "Held in the queue: %s.\n", o.HeldWhy)
	}
	if o.First != "" && (o.Why == "" || !strings.Contains(o.First, o.Why)) { // else it stands above
		fmt.Fprintf(&b, "Waits for muster: %s\n", o.First)
	}
	switch {
	case o.Stopped == standing.Hold:
		fmt.Fprintf(&b, "When it may go on:\n\n    muster resume\n    %s\n", again)
	case o.Stopped == standing.Budget && o.Running+o.Queued+o.HeldThere+o.Unsent == 0:
		b.WriteString("When the budget is raised, or less is asked for:\n\n    muster plan\n")
	case o.Stopped == standing.Interrupted && o.Next == "muster apply":
		fmt.Fprintf(&b, "To carry on:\n\n    %s\n", again)
	case o.Next != "":
		fmt.Fprintf(&b, "To carry on:\n\n    %s\n", o.Next)
	case o.Stopped == standing.None && o.LetGo > 0 && o.LetGo == o.Held+o.Failed+o.Cancelled:
		fmt.Fprintf(&b, "%s held when this plan was made, and let go since. A new plan runs what was held:\n\n    muster apply\n", jobsWere(o.LetGo))
	case o.Stopped == standing.None && o.Smoke != "":
		fmt.Fprintf(&b, "To see why: muster status, muster logs -smoke '%s'. When that is mended, so that it runs again:\n\n    muster resume\n    muster apply\n\n"+
			"or, where it may pass on your word, instead of resume:\n\n    muster override -reason=TEXT PHASE\n", o.Smoke)
	case o.Stopped == standing.None && o.Held+o.Failed+o.Cancelled == 0 && o.Altered > 0:
		// what can be done stands above
	case o.Stopped == standing.None && o.Held+o.Failed+o.Cancelled+o.Blocked > 0:
		b.WriteString("To see why: muster status. When that is mended:\n\n    muster resume\n    muster apply\n")
	}
	return b.String()
}

// jobsWere is "1 job was" or "3 jobs were".
func jobsWere(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return units.Count(n, "job") + " were"
}

func Headline(o standing.Outcome) string {
	switch o.Stopped {
	case standing.Budget:
		return "Stopped by a budget"
	case standing.Hold:
		return "Held"
	case standing.Interrupted:
		return "Interrupted"
	case standing.Beyond:
		return "More than was approved is left"
	case standing.Detached:
		if o.Stranded() {
			return "Not all was handed over"
		}
		return "Handed over"
	case standing.LeaseLost:
		return "The lease was taken over"
	case standing.StoreFailed:
		return "The state cannot be written"
	}
	if o.Held+o.Failed+o.Cancelled+o.Blocked > 0 {
		return "Ended with work that needs you"
	}
	if o.Running+o.Queued+o.HeldThere+o.Unsent > 0 || o.First != "" { // apply -once
		return "One pass made"
	}
	return "Done"
}

// goingOn is what runs on without muster: "6 running; 240 queued on lab will
// still start. Stop that: muster hold".
func goingOn(o standing.Outcome) string {
	var parts []string
	if o.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", o.Running))
	}
	if len(o.QueuedOn) > 0 {
		var on []string
		for _, q := range o.QueuedOn {
			on = append(on, fmt.Sprintf("%d queued on %s", q.Jobs, q.Backend))
		}
		parts = append(parts, strings.Join(on, ", ")+" will still start. Stop that: muster hold")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "\n"
}

// resultLine is a result under the last word of a run; a long one is cut, and
// the command named that shows it whole.
func resultLine(v lang.ResultValue, width int) string {
	const whole = "  (whole: muster outputs)"
	line := "  " + resultOf(v).text()
	if term.Width(line) > width {
		line = term.Fit(line, width-len(whole)) + whole
	}
	return line + "\n"
}
