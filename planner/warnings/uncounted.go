package warnings

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers/offer"
)

// Uncounted names the costs that a plan's figures leave out, so that nobody takes an unknown
// cost for zero.
func Uncounted(works []Work, pools []offer.Pool, backends []*lang.Backend) (notes []string) {
	for _, w := range works {
		for _, d := range w.Placements {
			at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if d.Backend == "" || at < 0 {
				continue
			}
			if _, bounded := forecast.Bound(pools[at], d); !bounded && w.Len() > 1 {
				notes = append(notes, fmt.Sprintf("How many jobs %s runs at once is not known and counted as no limit.", d.Where()))
			}
			if p := pools[at]; d.Shape.GPUs > 0 && d.Shape.GPU.Memory > 0 && p.GPUMem == 0 {
				note := fmt.Sprintf("The memory of the GPUs of %s is not known, and gpu { memory = %q } holds nothing off it", d.Where(), units.FormatSize(d.Shape.GPU.Memory))
				if p.Kind == offer.QueuePool {
					note += ": state it in a profile, as memory of gpu of that " + p.Word
				}
				notes = append(notes, note+".")
			}
			if d.Price.UnknownSU {
				notes = append(notes, fmt.Sprintf("The charge of %s in service units is unknown: %s.", d.Where(), d.HowToPrice(backends)))
			}
		}
	}
	return notes
}
