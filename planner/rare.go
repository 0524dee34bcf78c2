package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/ceiling"
)

// tooRare warns of chained segments that end before their first checkpoint is due:
// no later one would start, as it would go on from where the first began.
func (w *draft) tooRare() diag.List {
	c := w.p.Checkpoint
	if c == nil || c.Signal != "" {
		return nil
	}
	for i, k := range w.pp.Kind {
		d := w.pp.Decision(i)
		if !k.Starts() || d.Segments < 2 {
			continue
		}
		each := ceiling.Segment(d.Shape, d.Segments).Walltime
		if every := c.Every(d.Shape.Nodes); every >= each {
			return diag.List{{Severity: diag.Warning, Summary: "A segment ends before its first checkpoint", Address: "phase." + w.p.Name, In: fmt.Sprintf("phase %q", w.p.Name), Subject: c.Range.Ptr(),
				Detail: fmt.Sprintf("phase.%s writes a checkpoint every %s, and on %s its work is cut into segments of %s: no segment would have a checkpoint to continue from. Shorten interval, or set signal, so that the job gets a signal before each segment ends.",
					w.p.Name, units.FormatDuration(every), d.Where(), units.FormatDuration(each))}}
		}
	}
	return nil
}
