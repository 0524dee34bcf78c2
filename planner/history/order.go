package history

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
)

// Lengths tells how long each cell of a phase is expected to take, so that the
// longest start first; nil where nothing tells one from another.
func (h *Past) Lengths(b *fit.Budget) func(cell int) time.Duration {
	p := h.phase
	model, fits := h.Fit(b)
	reqs := p.Requests(lang.Run)
	ev := h.Measurements(nil)
	each, differ := make([]time.Duration, len(reqs)), false
	for r := range reqs {
		each[r] = ev.Runtime(reqs[r].Shape.Walltime).Expected
		differ = differ || each[r] != each[0]
	}
	if !fits && !differ {
		return nil
	}
	return func(cell int) time.Duration {
		r := p.RequestOf(cell, lang.Run)
		if fits {
			if bucket, ok := model.Bucket(cell); ok {
				return model.Runtime(bucket, reqs[r].Shape.Walltime).Expected
			}
		}
		return each[r]
	}
}
