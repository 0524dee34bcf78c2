package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/diag"
)

// namedRows is how many rows a refusal lists by name.
const namedRows = 20

// protect refuses to re-run jobs under prevent_rerun. The state remembers the
// guard, so that deleting its block does not disarm it; writing prevent_rerun
// = false does.
func protect(fs *facts, ps phases) (diags diag.List) {
	for _, w := range ps.drafts {
		l := w.p.Lifecycle
		if !fs.guarded(w) {
			continue
		}
		names, n := "", 0
		for i, k := range w.pp.Kind {
			if k != Rerun && k != Restart && !(k == Restore && w.pp.Details[i].Destroy) {
				continue
			}
			if n++; n <= namedRows {
				names += "\n  " + w.p.Address(i)
			}
		}
		if n == 0 {
			continue
		}
		how := "the phase's lifecycle says prevent_rerun"
		if !l.PreventRerun {
			how = "the state remembers prevent_rerun, though the block is gone"
		}
		diags.Append(diag.Diagnostic{Summary: "A protected phase would be re-run", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
			Detail: fmt.Sprintf("%d finished or running jobs would be run again, and %s:%s\n\nKeep the results with -accept=phase.%s, or write prevent_rerun = false.", n, how, names, w.p.Name)})
	}
	return diags
}
