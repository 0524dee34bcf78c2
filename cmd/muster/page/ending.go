package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/unattended"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/state"
)

// Ending is the last words of a run, of the plan saved in a file or of one made for it (""):
// how it ended, and the results; after a destroy, machines that the backends still bill, since
// no plan ends them.
func Ending(p *planner.Plan, o progress.Outcome, saved string, backends []*lang.Backend, width int) string {
	text := conclusion(o, p.Of(planner.Missing), p.Of(planner.Altered), saved)
	if p.Destroy && o.Stopped == progress.None {
		text = term.Join("\n", strings.TrimSuffix(destroyed(o)+unended(p), "\n"), warnings.NotOurs(backends)) + "\n"
	}
	text = "\n" + term.Fold(text+stillRented(o.Rentals, backends), width)
	for _, r := range o.Results {
		text += resultLine(r, width)
	}
	return text
}

// stillRented names the machines that are billed after a run, and what ends that.
func stillRented(rentals []state.Rental, backends []*lang.Backend) string {
	var b strings.Builder
	for _, r := range rentals {
		fmt.Fprintf(&b, "Still rented: %s on %s, %s, %s", r.ID, r.Backend, r.Status.Words(), amount.Hourly(r.PerHour))
		i := slices.IndexFunc(backends, func(b *lang.Backend) bool { return b.Address() == r.Backend })
		if i >= 0 && r.Status == state.RentalRunning {
			b.WriteString(afterHold(backends[i]))
		}
		b.WriteString(".\n")
	}
	if len(rentals) > 0 {
		b.WriteString("`muster destroy` releases machines that no job needs; `muster cost` shows the bill.\n")
	}
	return b.String()
}

// afterHold is a backend's action on a machine after its last job, in words.
func afterHold(b *lang.Backend) string {
	after := "after its last job"
	if b.Hold > 0 {
		after = units.FormatDuration(b.Hold) + " " + after
	}
	if b.Rents && !b.DeadMan && b.OnHold != "keep" {
		return ", still billed while muster is off: nothing else ends it"
	}
	if b.Timer && b.OnHold != "keep" {
		return ", stopped by its timer while muster is off, and its disk is billed then"
	}
	switch b.OnHold {
	case "release":
		return ", released " + after
	case "stop":
		return ", stopped " + after + ", and its disk is billed then"
	case "keep":
		return ", kept and billed until you release it"
	}
	return ""
}

// destroyed is the last word of a destroy that came to its end.
func destroyed(o progress.Outcome) string {
	text := "Destroyed: "
	if len(o.Rentals) > 0 {
		text = "Not destroyed: " + units.Count(len(o.Rentals), "machine") + " still rented, "
	}
	text += units.Count(o.Cancelled, "job") + " cancelled"
	if o.Released > 0 {
		text += ", " + units.Count(o.Released, "machine") + " released"
	}
	if o.Deleted > 0 {
		text += fmt.Sprintf(", %d outputs deleted", o.Deleted)
	}
	if o.Undeleted > 0 {
		text += fmt.Sprintf(", %d outputs not deleted", o.Undeleted)
	}
	return text + ".\n"
}

// Unended are the jobs, by backend, that a destroy could not end, since their
// backends could not be asked.
func Unended(p *planner.Plan) map[string][]string {
	out := map[string][]string{}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if job := pp.Record(i); k == planner.UnknownAt && job != nil && job.Last() != nil {
				out[job.Last().Backend] = append(out[job.Last().Backend], pp.Phase.Address(i))
			}
		}
	}
	for _, r := range p.Loose {
		if r.Kind == planner.UnknownAt && !r.Machine() { // machines are named as still rented
			out[r.Backend] = append(out[r.Backend], r.Address)
		}
	}
	return out
}

func unended(p *planner.Plan) string {
	var b strings.Builder
	left := Unended(p)
	for _, name := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(&b, "backend.%s cannot be asked: muster did not cancel %s there, which may still run and cost: %s\n", name, units.Count(len(left[name]), "job"), change.Names(left[name]))
	}
	if len(left) > 0 {
		b.WriteString("The state keeps these jobs. When the backend can be asked again, or its block is back in the campaign:\n\n    muster destroy\n")
	}
	return b.String()
}

// conclusion is the last line of a run. An unfinished saved plan goes on by its file: its
// approval still holds.
func conclusion(o progress.Outcome, missing, altered []string, saved string) string {
	var b strings.Builder
	again := "muster apply"
	if saved != "" {
		again += " " + shell.Quote(saved)
	}
	head := Headline(o)
	if head == "Done" && len(missing) > 0 {
		head = "Done, except for missing files"
	}
	if head == "Done" && o.Altered > 0 {
		head = "Done, except for changed outputs"
	}
	fmt.Fprintf(&b, "%s: %d of %d jobs done and verified", head, o.Done, o.Total)
	for _, c := range []struct {
		n    int
		word string
	}{{o.Failed, "failed"}, {o.Held - o.LeftOut, "held"}, {o.LeftOut, "waiting for a backend"}, {o.Cancelled, "cancelled"}, {o.Blocked, "blocked"}, {o.Altered, "with changed outputs"}, {o.Changed, "with changed inputs"}, {o.Unknown, "unknown"}, {o.Running, "running"}, {o.Queued, "queued"}, {o.HeldThere, "held in the queue"}, {o.Unsent, "not submitted"}, {o.Left, "left"}} {
		if c.n > 0 {
			fmt.Fprintf(&b, ", %d %s", c.n, c.word)
		}
	}
	b.WriteString(".\n")
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Outputs of %s are not there any more (? missing). To make them again:\n\n    muster apply -rerun=%s\n", units.Count(len(missing), "job"), shell.Enclose(missing[0]))
	}
	if len(altered) > 0 {
		b.WriteString(planner.AlteredWays(altered) + "\n")
	}
	if o.Changed > 0 {
		fmt.Fprintf(&b, "Inputs of %s changed after their jobs read them. To see what would run again:\n\n    muster plan\n", units.Count(o.Changed, "job"))
	}
	if o.Why != "" {
		fmt.Fprintf(&b, "%s\n", diag.Sentence(o.Why))
	}
	if o.Stopped == progress.Interrupted || o.Stopped == progress.Detached || o.Stopped == progress.LeaseLost || o.Stopped == progress.StoreFailed {
		b.WriteString(goingOn(o))
	}
	if o.LeftOutWhy != "" {
		fmt.Fprintf(&b, "Waiting for a backend: %s.\n", strings.TrimSuffix(o.LeftOutWhy, "."))
	}
	if o.UnsentWhy != "" {
		fmt.Fprintf(&b, "Not submitted: %s.\n", strings.TrimSuffix(o.UnsentWhy, "."))
	}
	if o.HeldWhy != "" {
		fmt.Fprintf(&b, "Held in the queue: %s.\n", o.HeldWhy)
	}
	if o.First != "" && (o.Why == "" || !strings.Contains(o.First, o.Why)) { // else it is above
		fmt.Fprintf(&b, "Waits for muster: %s\n", o.First)
	}
	b.WriteString(nextStep(o, again))
	return b.String()
}

// nextStep is what to type next; again is the command that continues this run.
func nextStep(o progress.Outcome, again string) string {
	switch {
	case o.Stopped == progress.Hold:
		return fmt.Sprintf("To continue:\n\n    muster resume\n    %s\n", again)
	case o.Approval && o.Running+o.Queued+o.HeldThere+o.Unsent == 0:
		return "To approve the rest:\n\n    muster apply\n"
	case o.Stopped == progress.Budget && o.Running+o.Queued+o.HeldThere+o.Unsent == 0:
		return "After raising the budget, or reducing the work:\n\n    muster plan\n"
	case o.Stopped == progress.Interrupted && o.Next == "muster apply":
		return fmt.Sprintf("To continue:\n\n    %s\n", again)
	case o.Next != "" && o.Unknown > 0 && o.Stopped == progress.None && o.Running+o.Waiting() == 0:
		return fmt.Sprintf("Unknown jobs keep their records, and muster does not submit them again. When their backend answers:\n\n    %s\n", o.Next)
	case o.Idle > 0:
		return "The next plan says what starts them:\n\n    muster plan\n    muster apply\n"
	case o.Next != "":
		return fmt.Sprintf("To continue:\n\n    %s\n", o.Next)
	case o.Stopped == progress.None && o.LetGo > 0 && o.LetGo == o.Held+o.Failed+o.Cancelled:
		return fmt.Sprintf("%s held when this plan was made, and released since. A new plan runs them:\n\n    muster apply\n", jobsWere(o.LetGo))
	case o.Stopped == progress.None && o.LeftOut > 0 && o.LeftOut == o.Held+o.Failed+o.Cancelled:
		return "When it answers:\n\n    muster apply\n"
	case o.Stopped == progress.None && o.Smoke != "":
		return fmt.Sprintf("To see why: muster status, muster logs -smoke %s. When you have fixed the cause, run it again:\n\n    muster resume\n    muster apply\n\n"+
			"or, to let it pass without a fix, instead of resume:\n\n    muster override -reason=TEXT PHASE\n", shell.Enclose(o.Smoke))
	case o.Stopped == progress.None && o.Held+o.Failed+o.Cancelled == 0 && o.Altered > 0:
		return "" // the ways out are above
	case o.Stopped == progress.None && o.Cancelled > 0 && o.Held+o.Failed+o.Changed == 0: // which `resume` without an address leaves
		return "To run cancelled jobs after all:\n\n    muster resume ADDR\n    muster apply\n"
	case o.Stopped == progress.None && o.Held+o.Failed+o.Cancelled+o.Blocked > 0:
		return "To see why: muster status. When you have fixed the cause:\n\n    muster resume\n    muster apply\n"
	}
	return ""
}

// jobsWere is "1 job was" or "3 jobs were".
func jobsWere(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return units.Count(n, "job") + " were"
}

func Headline(o progress.Outcome) string {
	switch o.Stopped {
	case progress.Budget:
		if o.Approval {
			return "Stopped by the approved ceiling"
		}
		return "Stopped by a budget"
	case progress.Hold:
		return "Held"
	case progress.Interrupted:
		return "Interrupted"
	case progress.Beyond:
		return "Unapproved work remains"
	case progress.Detached:
		if o.Stranded() {
			return "Not all jobs were submitted"
		}
		return "Submitted"
	case progress.LeaseLost:
		return "The lease was taken over"
	case progress.StoreFailed:
		return "The state cannot be written"
	}
	if o.Held-o.LeftOut+o.Failed+o.Cancelled+o.Changed > 0 || o.Blocked > 0 && o.LeftOut == 0 {
		return "Ended with work that needs you"
	}
	if o.Unknown+o.LeftOut > 0 {
		return "Ended with jobs whose backend cannot be asked"
	}
	if o.Idle > 0 {
		return "Ended before all jobs started"
	}
	if o.Running+o.Queued+o.HeldThere+o.Unsent > 0 || o.First != "" { // apply -once
		return "One pass made"
	}
	return "Done"
}

// goingOn names the jobs that run on without muster: "6 running; 240 queued on
// lab will still start. Stop that: muster hold".
func goingOn(o progress.Outcome) string {
	var parts, names []string
	for _, q := range o.QueuedOn {
		names = append(names, q.Backend)
	}
	if unattended.Simulated(names) {
		return "Simulated time stops with muster; it continues with your next `muster apply`.\n"
	}
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
