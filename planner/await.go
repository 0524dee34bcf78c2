package planner

import (
	"cmp"
	"fmt"

	"github.com/muster-run/muster/internal/diag"
)

// await holds the cells whose place, or that of their inputs, does not answer now. A campaign
// that has begun goes on with the others, and says which jobs wait for which backend.
func (fs *facts) await(w *draft) diag.List {
	why := ""
	for i, k := range w.pp.Kind {
		if away := cmp.Or(w.pp.Decision(i).Away, fs.inputAway(w, i)); k.Starts() && away != "" {
			why = away
			w.stop(i, HeldKind, Detail{Text: away})
		}
	}
	if why == "" || len(fs.in.Observed.Unasked) > 0 { // the rows name the places that were not asked on purpose
		return nil
	}
	return diag.List{{Severity: diag.Warning, Summary: "Jobs wait for a backend that cannot be asked", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(),
		In: fmt.Sprintf("phase %q", w.p.Name), Detail: why + ". This plan leaves them out and does everything else; once the backend answers, plan and apply again."}}
}

// inputAway says why nothing is known of the files of a cell's inputs that are on
// another backend, "" if nothing is amiss.
func (fs *facts) inputAway(w *draft, i int) string {
	for _, in := range w.p.Raw {
		if why := fs.in.Observed.Unreachable[in.Backend]; why != "" && w.pp.RawFiles(in, i) == nil {
			return fmt.Sprintf("its input %s is on backend.%s: %s", in.Name, in.Backend, why)
		}
	}
	return ""
}
