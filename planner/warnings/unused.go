package warnings

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// Unused names the GPUs, or where nodes have none the cores, that stay idle on nodes that
// a site charges whole, whatever a job uses of them.
func Unused(works []Work, pools []offer.Pool) (notes []string) {
	for _, w := range works {
		for i, d := range w.Placements {
			at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if at < 0 || w.Starting[i] == 0 {
				continue
			}
			p, s := pools[at], d.Shape
			what, has, used := "GPU", p.GPUs, d.Shape.GPUs
			if p.GPUs == 0 {
				what, has, used = "core", p.CPUs, max(s.CPUs, 1)
			}
			used = (used + max(s.Nodes, 1) - 1) / max(s.Nodes, 1) * s.Beside()
			if !p.WholeNode || used >= has || p.GPUs == 0 && used > has/2 { // nobody else fits beside it
				continue
			}
			who := "its job uses"
			if s.Beside() > 1 {
				who = fmt.Sprintf("%d jobs share it and use", s.Beside())
			}
			note := fmt.Sprintf("phase.%s: %s charges whole nodes, and of the %s of a node %s %d.", w.Name, d.Where(), units.Count(has, what), who, used)
			notes = append(notes, note+unusedAdvice(w.Starting[i], p, s))
		}
	}
	return notes
}

// unusedAdvice is a way to have jobs use more of a node, where there is one.
func unusedAdvice(jobs int, p offer.Pool, s offer.Shape) string {
	shared := p
	shared.Pack = true
	switch n := shared.Packs(s); {
	case s.GPUs == 0 && p.GPUs > 0:
		return " Place this phase where nodes have no GPUs."
	case s.Nodes > 1:
		return " Jobs of several nodes share none."
	case jobs < 2:
		return ""
	case n < 2:
		return fmt.Sprintf(" No other job fits beside it: it requests %s of %s of memory.", units.FormatSize(s.Memory), units.FormatSize(p.Memory))
	case !p.Pack:
		return fmt.Sprintf(" With pack = \"auto\" in backend.%s, up to %d jobs share a node.", p.Backend, n)
	case s.Beside() >= min(n, jobs):
		return ""
	}
	return " More jobs share a node if each requests fewer cpus or less memory."
}
