package cluster

import (
	"slices"
	"strconv"
	"strings"

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
		for model := range l.GPUs {
			if model != "" && slices.ContainsFunc(s.GPU.Models, func(m string) bool { return strings.EqualFold(m, model) }) {
				return "gpu:" + model + ":" + each
			}
		}
	}
	return "gpu:" + each
}
