package view

import (
	"fmt"
	money "github.com/muster-run/muster/planner/amount"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
)

// The head of a comment is for who has never seen a plan: what it does, what
// that costs, when it ends, what could go wrong, and what a yes allows, each in
// a sentence.

// markdownStory says what the plan does, where, for how much, until when.
func markdownStory(b *strings.Builder, p *planner.Plan) {
	if !p.Counts.Changes() {
		if p.Counts.Held+p.Counts.Blocked+p.Counts.Unknown+p.Counts.Missing+p.Counts.Altered+p.Counts.Bytes > 0 && !p.RefreshOnly {
			b.WriteString("Nothing would be started if it is applied. What is left waits: see below for what.\n\n")
		}
		return
	}
	does := markdownDoes(p)
	if end := markdownEnd(p); end != "" {
		does = append(does, end)
	}
	b.WriteString(markdownNow(p) + " If it is applied, muster\n\n- " + strings.Join(does, ";\n- ") + ".\n\n")
}

// markdownNow is how it stands: a plan by itself starts nothing.
func markdownNow(p *planner.Plan) string {
	if n := p.Counts.Continue; n > 0 {
		return jobs(n, "is", "are") + " under way from before; this plan has started nothing."
	}
	return "Nothing has started."
}

// markdownDoes is each kind of thing that the plan does, with how many jobs it
// is done to.
func markdownDoes(p *planner.Plan) (does []string) {
	c, restarts, pilots := p.Counts, 0, 0
	for _, pp := range p.Phases {
		pilots += len(pp.Pilot)
		for _, k := range pp.Kind {
			if k == planner.Restart {
				restarts++
			}
		}
	}
	for _, d := range []struct {
		n    int
		text string
	}{
		{c.Run + c.Retry, "runs **%s**" + markdownPlaces(p, planner.Run, planner.Retry)},
		{c.Smoke, "tries %s in short first (a smoke): where one fails, nothing bigger of its phase starts"},
		{pilots, "runs %s of these before the others of the phase (a pilot): where one fails, they wait for a person"},
		{c.Rerun - restarts, "runs **%s again**" + markdownPlaces(p, planner.Rerun) + " although they had a result; the old files are moved aside"},
		{restarts, "**cancels %s under way and starts anew what they do**" + markdownPlaces(p, planner.Restart)},
		{c.Resubmit, "asks anew for **%s** that wait in a queue, since what they ask for changed"},
		{c.Cancel, "**cancels %s**"},
		{c.Continue, "leaves %s under way as they are" + markdownRunning(p)},
		{c.Adopt, "adopts %s that somebody else started"},
		{c.Move, "takes what %s did under a former name for theirs: nothing is run"},
		{c.Restore, "**puts the earlier results of %s back**: nothing is run, and the files that are there now are moved aside"},
		{c.Accept, "lets %s stand as they are although they changed"},
		{c.Record, "looks at what became of %s and records it"},
		{c.Forget, "forgets %s that the campaign no longer has; their files stay"},
		{c.Unchanged, "leaves %s as they are, done and verified"},
	} {
		if d.n > 0 {
			does = append(does, fmt.Sprintf(d.text, jobs(d.n, "", "")))
		}
	}
	if n := len(p.Foreign()); n > 0 {
		does = append(does, "**moves aside files at the output paths of "+jobs(n, "", "")+"** that these did not make")
	}
	if n := c.Release; n > 0 {
		does = append(does, "**gives "+plural(n, "rented machine")+" back**")
	}
	if n := c.Delete; n > 0 {
		does = append(does, "**deletes "+plural(n, "output")+"**")
	}
	return does
}

// markdownEnd says when it is done, "" where nothing runs.
func markdownEnd(p *planner.Plan) string {
	w := p.Forecast.Walltime
	switch {
	case !foretold(p):
		return ""
	case p.Forecast.LeftOut > 0:
		return "ends nobody knows when: not every job has a place"
	case w.Mark == forecast.Unknown:
		return "ends nobody knows when: some jobs state no walltime, and have no history"
	case w.P90 == 0: // nothing runs, or nothing has a place
		return ""
	}
	return fmt.Sprintf("is expected to be done after %s; in nine cases of ten within %s, which is %s if applied when it was planned (%s)",
		roughly(w.P50), roughly(w.P90), p.Now.Add(w.P90).UTC().Format(markdownMinute), p.Now.UTC().Format(markdownMinute))
}

const markdownMinute = "2006-01-02 15:04 UTC"

// markdownPlaces is " on `a` and `b`": where the jobs go that some kinds of
// action start, most jobs first.
func markdownPlaces(p *planner.Plan, of ...planner.Kind) string {
	n, nowhere := map[string]int{}, 0
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if !slices.Contains(of, k) {
				continue
			}
			if d := pp.Decision(i); d.Backend != "" {
				n[d.Backend]++
			} else {
				nowhere++
			}
		}
	}
	switch {
	case len(n) == 0 && nowhere > 0:
		return ", but nowhere as it stands: they have no place, and what they cost is not known"
	case nowhere > 0:
		return markdownOn(n, true) + "; " + count(nowhere) + " of them cannot run anywhere as it stands, and what they cost is not known"
	}
	return markdownOn(n, false)
}

// markdownRunning is where what runs already does.
func markdownRunning(p *planner.Plan) string {
	n := map[string]int{}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k != planner.Continue {
				continue
			}
			if at := pp.Record(i).Last(); at != nil {
				n[at.Backend]++
			}
		}
	}
	return markdownOn(n, false)
}

// markdownOn is " on `a` (3), `b` (2)": backends, most jobs first; counted where
// there are several, or where asked.
func markdownOn(n map[string]int, counted bool) string {
	names := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(names, func(a, b string) int { return n[b] - n[a] })
	if len(names) == 0 {
		return ""
	}
	shown := names[:min(len(names), 5)]
	var out []string
	for _, name := range shown {
		text := code(name)
		if len(names) > 1 || counted {
			text += " (" + count(n[name]) + ")"
		}
		out = append(out, text)
	}
	if more := len(names) - len(shown); more > 0 {
		out = append(out, plural(more, "more backend"))
	}
	return " on " + strings.Join(out, ", ")
}

// markdownRisks is what could go wrong, worst first.
func markdownRisks(b *strings.Builder, p *planner.Plan) {
	var list strings.Builder
	markdownSaid(&list, p, diag.Error)
	markdownBudgets(&list, p)
	markdownDestructive(&list, p)
	for _, text := range markdownDoubts(p) {
		fmt.Fprintf(&list, "- %s\n", text)
	}
	markdownSaid(&list, p, diag.Warning)
	inside := markdownInside(p)
	if list.Len() == 0 {
		if p.Counts.Changes() {
			b.WriteString(inside)
			b.WriteString("**What could go wrong:** nothing that muster knows of, beyond what is assumed below.\n\n")
		}
		return
	}
	fmt.Fprintf(b, "**What could go wrong**\n\n%s\n%s", list.String(), inside)
}

// markdownInside says how far inside each budget the plan is at p90; "" where none
// holds, or its figures are not known.
func markdownInside(p *planner.Plan) string {
	var parts []string
	for _, c := range p.Budgets {
		for _, unit := range slices.Sorted(maps.Keys(c.Limits)) {
			l := forecast.LineOf(p.Forecast.ByScope[c.Name], unit)
			if len(c.Broken) > 0 || l.Unit == "" || l.P90.Mark == forecast.Unknown {
				continue
			}
			limit := money.Of(c.Limits[unit])
			if room := limit.Sub(money.Of(c.Spent[unit])).Sub(money.Of(l.P90.Text)); room.Sign() >= 0 {
				parts = append(parts, fmt.Sprintf("%s of budget %s (%s)", Amount(unit, room.String()), code(c.Name), Amount(unit, limit.String())))
			}
		}
	}
	if len(parts) == 0 || !p.Counts.Changes() {
		return ""
	}
	return "At p90 the plan leaves " + strings.Join(parts[:min(len(parts), shownBudgets)], ", ") + ".\n\n"
}

// markdownDoubts are what the plan itself is unsure of.
func markdownDoubts(p *planner.Plan) []string {
	var out []string
	if !p.RefreshOnly && !p.Destroy && p.Counts.Changes() {
		if slices.Contains(p.Forecast.Basis, forecast.NoHistory) {
			out = append(out, "**no history**: some jobs have never run, and their times and costs are taken from the walltimes that were asked for, not from what they need")
			out = append(out, "**failures** are not in p90 where nothing has run: it counts one attempt each")
		}
		for _, text := range p.Forecast.Basis {
			if strings.Contains(text, "not comparable: ") {
				out = append(out, "**other work**: "+escape(clip(text, 300)))
			}
		}
		for _, u := range unitNames {
			if l, ok := lineOf(p.Forecast.Lines, u.unit); ok && p.Forecast.LeftOut == 0 && l.AtMost.Mark == forecast.Unknown {
				out = append(out, fmt.Sprintf("**no upper bound** is known for %s: a price or a walltime is missing", u.name))
			}
		}
	}
	if p.Counts.Changes() { // else there may be no more than a glance of the records
		out = append(out, markdownFailures(p)...)
	}
	if p.Counts.Changes() && !p.Destroy && !p.RefreshOnly {
		out = append(out, markdownUnattended(p)...)
	}
	for i, text := range p.Dangers {
		if i == markdownRows/4 {
			out = append(out, "… and "+plural(len(p.Dangers)-i, "more date")+" that `muster plan` names")
			break
		}
		out = append(out, "**date**: "+escape(clip(text, 300)))
	}
	away := 0
	for _, v := range p.Backends {
		if v.Problem == "" && v.Fallback == "" {
			continue
		}
		if away++; away > markdownRows/4 {
			continue
		}
		if v.Problem != "" {
			out = append(out, fmt.Sprintf("**backend** %s cannot be asked: %s", code(v.Name), escape(clip(v.Problem, 300))))
		}
		if v.Fallback != "" {
			out = append(out, fmt.Sprintf("**backend** %s: %s", code(v.Name), escape(clip(fallback(p, v), 300))))
		}
	}
	if more := away - markdownRows/4; more > 0 {
		out = append(out, "… and "+plural(more, "more backend")+" of which the same is to be said")
	}
	for _, c := range []struct {
		n         int
		what, why string
	}{
		{p.Counts.Held - awaiting(p), "wait for a person: failed, held or cancelled before. `muster status` says why; once that is mended, `muster resume` lets them go", markdownHeld(p)},
		{p.Counts.Blocked, "cannot start: what is to be read will not come by itself", ""},
		{p.Counts.Unknown, "cannot be asked about, and count as running at their ceiling", ""}, {p.Counts.Missing, "lack files that they once made", ""},
		{p.Counts.Altered, "have outputs that hold other bytes than they made: put the files back, or plan with `-accept` or `-rerun`", ""},
	} {
		if c.n > 0 {
			out = append(out, "**"+jobs(c.n, "", "")+"** "+c.what+c.why)
		}
	}
	return out
}

// markdownUnattended is what of a plan is guessed of its transfers, and what stops it
// while nobody looks.
func markdownUnattended(p *planner.Plan) (out []string) {
	unsized := 0
	for _, t := range p.Transfers {
		if t.Bytes < 0 || t.Cost != nil && t.Cost.Guessed {
			unsized += t.Files
		}
	}
	if unsized > 0 {
		out = append(out, "**transfers**: the size of "+plural(unsized, "file")+" that move is known after their producers, and how long they take is guessed")
	}
	smokes := false
	for _, pp := range p.Phases {
		smokes = smokes || pp.Smoke != nil && len(pp.Smoke.Run) > 0
	}
	if !smokes {
		return out
	}
	for _, note := range p.Notes {
		if strings.HasPrefix(note, "If you close muster now") && strings.Contains(note, "for your next") {
			out = append(out, "**smokes**: what follows them waits for muster. "+escape(clip(note, 300)))
		}
	}
	return out
}

// markdownHeld is for what reason jobs wait for a person, phase by phase.
func markdownHeld(p *planner.Plan) string {
	type cause struct {
		phase, why string
		n          int
	}
	var causes []*cause
	at := map[cause]*cause{}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k != planner.HeldKind || pp.Decision(i).Away != "" {
				continue
			}
			why := reason(pp.Detail(i)) // its own: some were held before their phase was
			if why == "" {
				why = pp.Hold
			}
			key := cause{phase: pp.Phase.Name, why: why}
			if at[key] == nil {
				at[key] = &cause{phase: pp.Phase.Name, why: why}
				causes = append(causes, at[key])
			}
			at[key].n++
		}
	}
	var b strings.Builder
	for i, c := range causes {
		if i == markdownRows/4 {
			fmt.Fprintf(&b, "\n  - … and %s", plural(len(causes)-i, "more reason"))
			break
		}
		fmt.Fprintf(&b, "\n  - %s of %s: %s", count(c.n), code(c.phase), escape(clip(c.why, 300)))
	}
	return b.String()
}

// markdownAllows is what a yes to the plan allows, and what else it takes.
func markdownAllows(b *strings.Builder, p *planner.Plan) {
	if !p.Counts.Changes() || p.RefreshOnly || p.Diags.HasErrors() {
		if p.Diags.HasErrors() {
			b.WriteString("**What a yes allows:** nothing. A plan with errors cannot be applied; mend them and plan again.\n\n")
		}
		return
	}
	var most []string
	for _, u := range unitNames {
		if text := Amount(u.unit, p.Ceiling[u.unit]); text != "" && (u.unit != "node_hours" || forecast.LineOf(p.Forecast.Lines, u.unit).Unit != "") {
			most = append(most, text)
		}
	}
	switch {
	case p.BudgetBroken():
		b.WriteString("**What a yes allows:** nothing as it stands. A budget or its deadline does not hold; raise it, or ask for less, and plan again.\n\n")
		return
	case len(most) == 0:
		b.WriteString("**What a yes allows:** this plan, and no other.\n")
	default:
		fmt.Fprintf(b, "**What a yes allows:** this plan, and no more than %s: before it would pass that, muster stops starting jobs. What runs is not ended for it.\n", strings.Join(most, ", "))
	}
	for i, text := range p.Asks {
		if i == markdownRows/4 {
			break
		}
		fmt.Fprintf(b, "It takes a plan that was saved: %s.\n", escape(clip(text, 400)))
	}
	b.WriteByte('\n')
}

func roughly(d time.Duration) string { return span(d, forecast.Known) }

// markdownSigns tells the signs of a plan.
const markdownSigns = `| | |
|:--|:--|
| job, phase | one run of a program; jobs of one kind |
| smoke, pilot | the same job in short, before anything big; one real job alone, before the others |
| walltime, ≤4h | the longest a job may take; it is ended then |
| + run, ± re-run, … continue | starts; replaces a result; runs on |
| ! held, ⊘ blocked, ? unknown | waits for a person; waits for something held; cannot be asked about |
| ⇡ ⇣ | files that move between machines |
`

func lossText(n int) string {
	if n == 1 {
		return "1 loss"
	}
	return count(n) + " losses"
}
