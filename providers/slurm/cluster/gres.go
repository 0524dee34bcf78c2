package cluster

import (
	"maps"
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
	if model := gpuType(l, s); model != "" {
		return "gpu:" + model + ":" + each
	}
	return "gpu:" + each
}

// gpuType is the type by which a partition is asked for the GPUs of a shape, ""
// where any of its would do. Of several types that would, the one is taken whose
// model is named first and of which a node has enough.
func gpuType(l *Partition, s offer.Shape) string {
	if l == nil || len(l.GPUs) < 2 || s.GPUs <= 0 {
		return ""
	}
	var would []string
	for _, m := range s.GPU.Models {
		for _, model := range slices.Sorted(maps.Keys(l.GPUs)) {
			if model != "" && SameGPU(m, model) && !slices.Contains(would, model) {
				would = append(would, model)
			}
		}
	}
	if len(would) == 0 || len(would) == len(l.GPUs) {
		return ""
	}
	nodes := max(s.Nodes, 1)
	if i := slices.IndexFunc(would, func(model string) bool { return l.GPUs[model] >= (s.GPUs+nodes-1)/nodes }); i > 0 {
		return would[i]
	}
	return would[0]
}

// Types are the GPUs of one node by the site's names, as Slurm writes them:
// "gpu:a100:3,gpu:v100:4". WithTypes reads them.
func (l *Partition) Types() string {
	var list []string
	for _, model := range slices.Sorted(maps.Keys(l.GPUs)) {
		list = append(list, strings.ReplaceAll("gpu:"+model+":", "::", ":")+strconv.Itoa(l.GPUs[model]))
	}
	return strings.Join(list, ",")
}

// WithTypes is a partition of which only the types of its GPUs are known.
func WithTypes(gres string) *Partition { return &Partition{GPUs: parseGres(gres)} }

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
