package cluster

import (
	"maps"
	"slices"
	"strconv"

	"github.com/muster-run/muster/providers/offer"
)

// Gres asks for the GPUs of a shape as sbatch --gres has it, for each node: by
// type only where the partition has several, and is known; "" for none.
func Gres(l *Partition, s offer.Shape) string {
	if s.GPUs <= 0 {
		return ""
	}
	nodes := max(s.Nodes, 1)
	each := strconv.Itoa((s.GPUs + nodes - 1) / nodes)
	if l != nil && len(l.GPUs) > 1 {
		for _, model := range slices.Sorted(maps.Keys(l.GPUs)) {
			if model != "" && slices.ContainsFunc(s.GPU.Models, func(m string) bool { return SameGPU(m, model) }) {
				return "gpu:" + model + ":" + each
			}
		}
	}
	return "gpu:" + each
}

// HasGPU reports whether a partition has GPUs of a model, by the types that the
// site gives them.
func (l *Partition) HasGPU(model string) bool {
	if l == nil {
		return false
	}
	for name := range l.GPUs {
		if name != "" && SameGPU(model, name) {
			return true
		}
	}
	return false
}
