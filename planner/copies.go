package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
)

// leastCopied is how often checkpoints on rented machines are copied where the phase
// states no interval; it is that of package providers/rental.
const leastCopied = "each minute"

// noteCopies says who copies the checkpoints of a phase off rented machines.
func noteCopies(fs *facts, w *draft) (notes []string) {
	c := w.p.Checkpoint
	if c == nil || !w.starting() {
		return nil
	}
	told := map[string]bool{}
	for i := range w.pp.Placements {
		at := w.pp.Placements[i].Backend
		if told[at] || !fs.keepsFiles(at) {
			continue
		}
		told[at] = true
		every := leastCopied
		if d := c.Every(w.pp.Placements[i].Shape.Nodes); d > 0 {
			every = "each " + units.FormatDuration(d)
		}
		notes = append(notes, fmt.Sprintf("phase.%s: muster copies its checkpoints from %s, %s, while it runs. With muster off nothing does, and a machine that is lost then takes its work with it.", w.p.Name, at, every))
	}
	return notes
}
