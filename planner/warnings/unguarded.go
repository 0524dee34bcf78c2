package warnings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers/offer"
)

// Guards reports whether a backend keeps jobs from writing over files of others;
// one of a type that nobody asked counts as such.
func Guards(can map[string]offer.Capabilities, backend string) bool {
	typ, _, _ := strings.Cut(backend, ".")
	c, known := can[typ]
	return !known || c.Guard
}

// Unguarded names the backends where a job writes over whatever is at its output
// paths by the time it starts.
func Unguarded(works []Work, can map[string]offer.Capabilities) (notes []string) {
	for _, w := range works {
		for at, n := range w.Starting {
			if name := backendAt(w, at); n > 0 && len(w.Outputs) > 0 && name != "" && !Guards(can, name) {
				notes = append(notes, fmt.Sprintf("backend.%s does not protect files: a job there writes over a file that comes to its output path after this plan.", name))
			}
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

func backendAt(w Work, at int) string {
	if at < 0 || at >= len(w.Placements) {
		return ""
	}
	return w.Placements[at].Backend
}
