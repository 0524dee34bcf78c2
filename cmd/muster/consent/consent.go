// Package consent words what must be agreed to before a plan is applied: what a
// person is asked, and what flags in a person's place do not cover.
package consent

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/view"
)

// Question is what a person is asked; only the word yes is a yes.
func Question(p *planner.Plan) string {
	what := "Do this?"
	if text := view.Ceiling(p); text != "" {
		what = fmt.Sprintf("Do this, spending at most %s?", text)
	}
	if names := p.Unbounded(); len(names) > 0 {
		what += fmt.Sprintf(" Nothing bounds the time of %s: no walltime is written.", strings.Join(names[:min(len(names), 3)], ", "))
	}
	reruns, cancels := p.DestructiveRows()
	if n := len(reruns) + len(cancels); n > 0 {
		what += fmt.Sprintf(" It re-runs %d finished and cancels %d running jobs.", len(reruns), len(cancels))
	}
	if n := len(p.Restored()); n > 0 {
		what += fmt.Sprintf(" It replaces %s by earlier ones.", units.Count(n, "result"))
	}
	if rows := p.Foreign(); len(rows) > 0 {
		what += fmt.Sprintf(" %s will be moved aside that their jobs did not make.", units.Count(files(rows), "file"))
	}
	return what + " Only \"yes\" is taken as a yes: "
}

// NeedsSaved refuses a plan that neither a flag nor an answer approves.
func NeedsSaved(p *planner.Plan) (l diag.List) {
	if why := p.NeedsSaved(); why != "" {
		l.Append(diag.Diagnostic{Summary: "This plan must be saved and reviewed", Detail: why + "\n\n    muster plan -out=FILE\n    muster apply FILE"})
	}
	return l
}

// Flags are what the command line allows beside -auto-approve.
type Flags struct{ Rerun, Cancel bool }

// Lacking refuses a destructive plan whole when a flag is missing, naming the
// rows and the flag.
func (f Flags) Lacking(p *planner.Plan) (l diag.List) {
	reruns, cancels := p.DestructiveRows()
	refuse := func(rows []string, allowed bool, summary, flag string) {
		if len(rows) == 0 || allowed {
			return
		}
		shown := rows[:min(len(rows), 10)]
		more := ""
		if len(rows) > len(shown) {
			more = fmt.Sprintf("\n  … and %d more", len(rows)-len(shown))
		}
		l.Append(diag.Diagnostic{Summary: summary, Detail: fmt.Sprintf("-auto-approve does not cover:\n  %s%s\n\nNothing was done. Pass %s as well, or apply a saved plan.", strings.Join(shown, "\n  "), more, flag)})
	}
	refuse(reruns, f.Rerun, "Finished work would run again", "-allow-rerun")
	refuse(p.Restored(), f.Rerun, "Earlier results would replace those that are there", "-allow-rerun")
	var foreign []string
	for _, d := range p.Foreign() {
		for _, o := range d.Foreign {
			foreign = append(foreign, d.Address+": "+o.Path)
		}
	}
	refuse(foreign, f.Rerun, "Files would be replaced that their jobs did not make", "-allow-rerun")
	refuse(cancels, f.Cancel, "Running work would be cancelled", "-allow-cancel")
	return l
}

// files counts the files that rows replace; a set that cannot be counted is one.
func files(rows []planner.Destruction) (n int) {
	for _, d := range rows {
		for _, o := range d.Foreign {
			n += max(o.Files, 1)
		}
	}
	return n
}
