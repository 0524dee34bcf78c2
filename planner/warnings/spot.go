package warnings

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/providers/offer"
)

// Spot names the phases whose jobs lose all their work when a machine is taken away, and where
// that may happen.
func Spot(works []Work, pools []offer.Pool) (notes []string) {
	for _, w := range works {
		if w.Checkpoint != nil {
			continue
		}
		var at []string
		for i := range pools {
			if p := &pools[i]; p.Spot && starts(w, p) {
				at = append(at, strings.TrimSpace("backend."+p.Backend+" "+p.Name))
			}
		}
		if len(at) > 0 {
			notes = append(notes, fmt.Sprintf("phase.%s has no checkpoint, and machines of %s may be taken away while a job runs: it begins again from the start. Write a checkpoint block in the phase, or choose machines that stay.",
				w.Name, strings.Join(at, ", ")))
		}
	}
	return notes
}

// starts reports whether jobs of a phase start in a pool.
func starts(w Work, p *offer.Pool) bool {
	in := func(at int) bool {
		return at > 0 && at < len(w.Placements) && w.Placements[at].Backend == p.Backend && w.Placements[at].Pool == p.Name
	}
	for at, n := range w.Starting {
		if n > 0 && in(at) {
			return true
		}
	}
	return false
}
