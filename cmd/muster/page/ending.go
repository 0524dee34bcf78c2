package page

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
)

// Ending is the last words of a run: how it ended, and the results.
func Ending(p *planner.Plan, o apply.Outcome, width int) string {
	text := conclusion(o, missingFiles(p))
	if p.Destroy && o.Stopped == apply.None {
		text = destroyed(o)
	}
	text = "\n" + term.Fold(text, width)
	for _, r := range o.Results {
		text += resultLine(r, width)
	}
	return text
}

// destroyed is the last word of a destroy that came to its end.
func destroyed(o apply.Outcome) string {
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

// missingFiles are the jobs that were done and whose outputs are gone: the
// plan has nothing to do about them.
func missingFiles(p *planner.Plan) []string {
	var out []string
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k == planner.Missing {
				out = append(out, pp.Phase.Address(i))
			}
		}
	}
	return out
}

// conclusion is the last word of a run.
func conclusion(o apply.Outcome, missing []string) string {
	var b strings.Builder
	head := Headline(o)
	if head == "Done" && len(missing) > 0 {
		head = "Done, but for files that are gone"
	}
	fmt.Fprintf(&b, "%s: %d of %d jobs done and verified", head, o.Done, o.Total)
	for _, c := range []struct {
		n    int
		word string
	}{{o.Failed, "failed"}, {o.Held, "held"}, {o.Cancelled, "cancelled"}, {o.Blocked, "blocked"}, {o.Unknown, "unknown"}, {o.Running, "running"}, {o.Queued, "queued"}, {o.Left, "left"}} {
		if c.n > 0 {
			fmt.Fprintf(&b, ", %d %s", c.n, c.word)
		}
	}
	b.WriteString(".\n")
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Outputs of %s are not there any more (? missing). To make them again:\n\n    muster apply -rerun='%s'\n", units.Count(len(missing), "job"), missing[0])
	}
	if o.Why != "" {
		fmt.Fprintf(&b, "%s\n", diag.Sentence(o.Why))
	}
	if o.Stopped == apply.Interrupted || o.Stopped == apply.Detached || o.Stopped == apply.LeaseLost || o.Stopped == apply.StoreFailed {
		b.WriteString(goingOn(o))
	}
	if o.First != "" {
		fmt.Fprintf(&b, "Waits for muster: %s\n", o.First)
	}
	switch {
	case o.Stopped == apply.Hold:
		b.WriteString("When it may go on:\n\n    muster resume\n    muster apply\n")
	case o.Next != "":
		fmt.Fprintf(&b, "To carry on:\n\n    %s\n", o.Next)
	case o.Stopped == apply.None && o.Smoke != "":
		fmt.Fprintf(&b, "To see why: muster status, muster logs -smoke '%s'. When that is mended, so that it runs again:\n\n    muster resume\n    muster apply\n\n"+
			"or, where it may pass on your word, instead of resume:\n\n    muster override -reason=TEXT PHASE\n", o.Smoke)
	case o.Stopped == apply.None && o.Held+o.Failed+o.Cancelled+o.Blocked > 0:
		b.WriteString("To see why: muster status. When that is mended:\n\n    muster resume\n    muster apply\n")
	}
	return b.String()
}

func Headline(o apply.Outcome) string {
	switch o.Stopped {
	case apply.Budget:
		return "Stopped by a budget"
	case apply.Hold:
		return "Held"
	case apply.Interrupted:
		return "Interrupted"
	case apply.Beyond:
		return "More than was approved is left"
	case apply.Detached:
		return "Handed over"
	case apply.LeaseLost:
		return "The lease was taken over"
	case apply.StoreFailed:
		return "The state cannot be written"
	}
	if o.Held+o.Failed+o.Cancelled+o.Blocked > 0 {
		return "Ended with work that needs you"
	}
	if o.Running+o.Queued > 0 || o.First != "" { // apply -once
		return "One pass made"
	}
	return "Done"
}

// goingOn is what runs on without muster: "6 running; 240 queued on lab will
// still start. Stop that: muster hold".
func goingOn(o apply.Outcome) string {
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
