package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/diag"
)

// namedRows is how many rows a refusal lists by name.
const namedRows = 20

// protect refuses to re-run what prevent_rerun guards. The state remembers
// the guard, so that deleting its block does not disarm it; writing
// prevent_rerun = false does.
func (m *maker) protect() {
	for _, w := range m.works {
		l := w.p.Lifecycle
		if !m.guarded(w) {
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
		m.diags.Append(diag.Diagnostic{Summary: "a protected phase would be re-run", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
			Detail: fmt.Sprintf("%d finished or running jobs would be run again, and %s:%s\n\nKeep the results with -accept=phase.%s, or write prevent_rerun = false.", n, how, names, w.p.Name)})
	}
}

// guarded reports whether prevent_rerun holds for a phase: it is written, or
// remembered and not disarmed.
func (m *maker) guarded(w *work) bool {
	l := w.p.Lifecycle
	return l.PreventRerun || m.st.Protected[w.p.Name] && !l.PreventRerunSet
}
