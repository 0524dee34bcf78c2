package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
)

// leastCopied is how often checkpoints on rented machines are copied where the phase
// states no interval; it is that of package providers/rental.
const leastCopied = "each minute"

// noteCopies says who copies the checkpoints of a phase off machines.
func noteCopies(fs *facts, w *draft) (notes []string) {
	c := w.p.Checkpoint
	if c == nil || !w.starting() {
		return nil
	}
	told := map[string]bool{}
	for i := range w.pp.Placements {
		at := w.pp.Placements[i].Backend
		if at == "" || told[at] || c.CopyTo == "" && !fs.keepsFiles(at) {
			continue
		}
		told[at] = true
		every := leastCopied
		if d := c.Every(w.pp.Placements[i].Shape.Nodes); d > 0 {
			every = "each " + units.FormatDuration(d)
		}
		b := fs.backend(at)
		switch {
		case c.CopyTo == "":
			notes = append(notes, fmt.Sprintf("phase.%s: muster copies its checkpoints from %s, %s, while it runs. With muster off nothing does, and a machine that is lost then takes its work with it.", w.p.Name, at, every))
		case b != nil && fs.in.Can[b.Type].CopiesOut():
			notes = append(notes, fmt.Sprintf("phase.%s: each machine of %s copies its checkpoints to %s, %s, also with muster off. It gets the key for that from the job's secrets.", w.p.Name, at, c.CopyTo, every))
		default:
			notes = append(notes, fmt.Sprintf("phase.%s: copy_to has no effect on %s, where checkpoints stay in the workdir.", w.p.Name, at))
		}
	}
	return notes
}
