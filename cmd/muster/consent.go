package main

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/view"
)

// approvalQuestion is the question to a person; only the word yes is a yes.
func approvalQuestion(p *planner.Plan) string {
	what := "Do this?"
	if text := view.Ceiling(p); text != "" {
		what = fmt.Sprintf("Do this, spending at most %s?", text)
	}
	if names := p.Unbounded(); len(names) > 0 {
		what += fmt.Sprintf(" No walltime limits %s.", strings.Join(names[:min(len(names), 3)], ", "))
	}
	reruns, cancels := p.DestructiveRows()
	if n := len(reruns); n > 0 {
		what += fmt.Sprintf(" It re-runs %s.", units.Count(n, "finished job"))
	}
	if n := len(cancels); n > 0 {
		what += fmt.Sprintf(" It cancels %s.", units.Count(n, "submitted job"))
	}
	if ids := p.Released(); len(ids) > 0 {
		what += fmt.Sprintf(" It releases %s and their disks.", units.Count(len(ids), "machine"))
	}
	if n := len(p.Restored()); n > 0 {
		what += fmt.Sprintf(" It replaces %s with earlier ones.", units.Count(n, "result"))
	}
	if rows := p.Foreign(); len(rows) > 0 {
		what += fmt.Sprintf(" It moves aside %s that jobs did not make.", units.Count(foreignFiles(rows), "file"))
	}
	return what + " Only \"yes\" is accepted: "
}

// mustBeSaved refuses a plan that neither a flag nor an answer approves.
func mustBeSaved(p *planner.Plan) (l diag.List) {
	if why := p.NeedsSaved(); why != "" {
		l.Append(diag.Diagnostic{Summary: "This plan must be saved and reviewed", Detail: why + "\n\n    muster plan -out=FILE\n    muster apply FILE"})
	}
	return l
}

// consentFlags are the command line's consents beside -auto-approve.
type consentFlags struct{ rerun, cancel bool }

// lacking refuses a destructive plan whole when a flag is missing, naming the
// rows and the flag.
func (f consentFlags) lacking(p *planner.Plan) (l diag.List) {
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
	refuse(reruns, f.rerun, "Finished work would run again", "-allow-rerun")
	refuse(p.Restored(), f.rerun, "Earlier results would replace the current ones", "-allow-rerun")
	var foreign []string
	for _, d := range p.Foreign() {
		for _, o := range d.Foreign {
			foreign = append(foreign, d.Address+": "+o.Path)
		}
	}
	refuse(foreign, f.rerun, "Files that their jobs did not make would be replaced", "-allow-rerun")
	refuse(cancels, f.cancel, "Running work would be cancelled", "-allow-cancel")
	return l
}

// foreignFiles counts the files that rows replace; a set that cannot be counted is one.
func foreignFiles(rows []planner.Destruction) (n int) {
	for _, d := range rows {
		for _, o := range d.Foreign {
			n += max(o.Files, 1)
		}
	}
	return n
}
