package warnings

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// Unused names the GPUs that stay idle on nodes that a site charges whole, whatever a
// job uses of them.
func Unused(works []Work, pools []offer.Pool) (notes []string) {
	for _, w := range works {
		for i, d := range w.Placements {
			at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if at < 0 || w.Starting[i] == 0 {
				continue
			}
			p, s := pools[at], d.Shape
			used := (s.GPUs + max(s.Nodes, 1) - 1) / max(s.Nodes, 1) * max(s.Pack, 1)
			if !p.WholeNode || used >= p.GPUs {
				continue
			}
			who := "its job uses"
			if s.Pack > 1 {
				who = fmt.Sprintf("%d jobs share it and use", s.Pack)
			}
			note := fmt.Sprintf("phase.%s: %s charges whole nodes, and of the %s of a node %s %d.", w.Name, d.Where(), units.Count(p.GPUs, "GPU"), who, used)
			notes = append(notes, note+unusedAdvice(w.Starting[i], p, s))
		}
	}
	return notes
}

// unusedAdvice is what makes jobs use the GPUs of a node, where something does.
func unusedAdvice(jobs int, p offer.Pool, s offer.Shape) string {
	switch {
	case s.GPUs == 0:
		return " Place this phase where nodes have no GPUs."
	case s.Nodes > 1 || jobs < 2:
		return ""
	case !p.Pack:
		return fmt.Sprintf(" With pack = \"auto\" in backend.%s, up to %d jobs share a node.", p.Backend, p.GPUs/max(s.GPUs, 1))
	}
	return " More jobs share a node if each requests fewer cpus or less memory."
}
