package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/diag"
)

// await holds the cells whose place cannot be asked now. A campaign that has
// begun goes on with what it can, and says what waits for whom.
func (m *maker) await(w *work) {
	why := ""
	for i, k := range w.pp.Kind {
		if away := w.pp.Decision(i).Away; k.Starts() && away != "" {
			why = away
			w.stop(i, HeldKind, Detail{Text: away})
		}
	}
	if why == "" || len(m.in.Observed.Unasked) > 0 { // of what was not asked on purpose the rows tell
		return
	}
	m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "jobs wait for a backend that cannot be asked", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(),
		In: fmt.Sprintf("phase %q", w.p.Name), Detail: why + ". They are left out of this plan, which does everything else; once the backend answers, plan and apply again."})
}
