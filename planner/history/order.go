package history

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
)

// Lengths tells how long each cell of a phase is expected to take, 0 where nothing tells,
// and whether that differs, so that the longest may start first.
func (h *Past) Lengths(b *fit.Budget) (length func(cell int) time.Duration, differ bool) {
	p := h.phase
	model, fits := h.Fit(b)
	reqs := p.Requests(lang.Run)
	ev := h.Measurements(nil)
	each := make([]time.Duration, len(reqs))
	for r := range reqs {
		each[r] = ev.Runtime(reqs[r].Shape.Walltime).Expected
		differ = differ || each[r] != each[0]
	}
	return func(cell int) time.Duration {
		r := p.RequestOf(cell, lang.Run)
		if fits {
			if bucket, ok := model.Bucket(cell); ok {
				return model.Runtime(bucket, reqs[r].Shape.Walltime).Expected
			}
		}
		return each[r]
	}, fits || differ
}
