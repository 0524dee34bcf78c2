package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
)

// The head of a comment is for readers who have never seen a plan: its actions, their cost,
// their end, the risks, and the effect of an approval, each in a sentence.

// markdownStory says what the plan does, where, for how much, until when.
func markdownStory(b *strings.Builder, p *planner.Plan) {
	if !p.Counts.Changes() {
		if p.Counts.Held+p.Counts.Blocked+p.Counts.Unknown+p.Counts.Missing+p.Counts.Altered+p.Counts.Bytes > 0 && !p.RefreshOnly {
			b.WriteString("Applying it would start nothing. The remaining jobs wait: see below for what.\n\n")
		}
		return
	}
	does := markdownDoes(p)
	if end := markdownEnd(p); end != "" {
		does = append(does, end)
	}
	b.WriteString(markdownNow(p) + " If it is applied, muster\n\n- " + strings.Join(does, ";\n- ") + ".\n\n")
}

// markdownNow is its progress: a plan by itself starts nothing.
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
		{c.Smoke, "first runs %s in short (a smoke): if one fails, nothing bigger of its phase starts"},
		{pilots, "runs %s of these before the others of the phase (a pilot): if one fails, the others wait for a person"},
		{c.Rerun - restarts, "runs **%s again**" + markdownPlaces(p, planner.Rerun) + " although they had a result; the old files are moved aside"},
		{restarts, "**cancels %s under way and runs their work again**" + markdownPlaces(p, planner.Restart)},
		{c.Resubmit, "resubmits **%s** that wait in a queue, because their request changed"},
		{c.Cancel, "**cancels %s**"},
		{c.Continue, "leaves %s under way as they are" + markdownRunning(p)},
		{c.Adopt, "adopts %s that somebody else started"},
		{c.Move, "keeps the results of %s under their new addresses: nothing is run"},
		{c.AdoptFiles, "adopts existing files as the results of %s: nothing runs, and muster records that it did not make them"},
		{c.Restore, "**puts the earlier results of %s back**: nothing runs, and the present files are moved aside"},
		{c.Accept, "keeps the results of %s although the jobs changed"},
		{c.Record, "checks the outcome of %s and records it"},
		{c.Forget, "forgets %s that the campaign no longer has; their files stay"},
		{c.Reread, "reads metrics again from the outputs of %s: nothing is run"},
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
		does = append(does, "**gives "+units.Count(n, "rented machine")+" back**")
	}
	if n := c.Delete; n > 0 {
		does = append(does, "**deletes "+units.Count(n, "output")+"**")
	}
	return does
}

// markdownEnd says when it is done, "" where nothing runs.
func markdownEnd(p *planner.Plan) string {
	w := p.Forecast.Walltime
	switch {
	case !hasForecast(p):
		return ""
	case p.Forecast.LeftOut > 0:
		return "has no known end: not every job has a place"
	case w.Mark == forecast.Unknown:
		return "has no known end: some jobs have neither a walltime nor a history"
	case w.P90 == 0: // nothing runs, or nothing has a place
		return ""
	}
	return fmt.Sprintf("is expected to be done after %s; in nine cases of ten within %s, which is %s if applied when it was planned (%s)",
		roughly(w.P50), roughly(w.P90), units.FormatTime(p.Now.Add(w.P90).UTC()), units.FormatTime(p.Now.UTC()))
}

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
		return ", but nowhere: they have no place, and their cost is unknown"
	case nowhere > 0:
		return markdownOn(n, true) + "; " + commas(nowhere) + " of them cannot run anywhere, and their cost is unknown"
	}
	return markdownOn(n, false)
}

// markdownRunning says where running jobs are.
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
			text += " (" + commas(n[name]) + ")"
		}
		out = append(out, text)
	}
	if more := len(names) - len(shown); more > 0 {
		out = append(out, units.Count(more, "more backend"))
	}
	return " on " + strings.Join(out, ", ")
}

// markdownRisks lists the risks, worst first.
func markdownRisks(b *strings.Builder, p *planner.Plan) {
	inside := p.Inside()
	if inside != "" {
		inside = escape(inside) + "\n\n"
	}
	list := p.Risks()
	if len(list) == 0 {
		if p.Counts.Changes() {
			b.WriteString(inside + "**What could go wrong:** nothing that muster knows of, beyond the assumptions below.\n\n")
		}
		return
	}
	b.WriteString("**What could go wrong**, worst first\n\n")
	for i, r := range list {
		if i == markdownRows {
			fmt.Fprintf(b, "- … and %s more\n", commas(len(list)-i))
			break
		}
		of := ""
		if r.Of != "" && r.Kind != "smoke" {
			of = " " + code(r.Of)
		}
		fmt.Fprintf(b, "- **%s**%s: %s", r.Kind, of, copied(clip(r.Text, 1000)))
		if r.More != "" {
			b.WriteString(". " + markdownLines(r.More))
		}
		for _, row := range r.Rows {
			b.WriteString("\n  - " + copied(clip(row, 300)))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + inside)
}

// copied is text with code in backticks.
func copied(text string) string {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		if i%2 == 1 && i+1 < len(parts) {
			parts[i] = code(part)
		} else if part != "" {
			parts[i] = escape(part)
		}
	}
	return strings.Join(parts, "")
}

// markdownAllows says what a yes to the plan allows, and what else it needs.
func markdownAllows(b *strings.Builder, p *planner.Plan) {
	if !p.Counts.Changes() || p.RefreshOnly || p.Diags.HasErrors() {
		if p.Diags.HasErrors() {
			b.WriteString("**What your approval allows:** nothing. A plan with errors cannot be applied; fix them and plan again.\n\n")
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
		b.WriteString("**What your approval allows:** nothing. It exceeds a budget or a deadline. Raise it, or reduce the work, and plan again.\n\n")
		return
	case len(most) == 0:
		b.WriteString("**What your approval allows:** this plan, and no other.\n")
	default:
		fmt.Fprintf(b, "**What your approval allows:** this plan, and no more than %s: before passing it, muster stops starting jobs. Running jobs continue.\n", strings.Join(most, ", "))
	}
	for i, text := range p.Asks {
		if i == markdownRows/4 {
			break
		}
		fmt.Fprintf(b, "It needs a saved plan: %s.\n", escape(clip(text, 400)))
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
