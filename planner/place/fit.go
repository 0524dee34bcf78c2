package place

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// segmentMargin is left free at the end of each chained segment, so that its
// last checkpoint is written before the pool ends the job.
const segmentMargin = 10 * time.Minute

// A misfit is why a pool cannot take a shape, and what could be done.
type misfit struct{ why, would string }

// fit reports whether a pool can take a shape, in how many chained segments.
func fit(p offer.Pool, s offer.Shape, checkpoint bool) (segments int, bad *misfit) {
	nodes := max(s.Nodes, 1)
	name := poolName(p)
	switch {
	case p.Testing && !s.Smoke:
		return 0, &misfit{name + " is for tests only", ""}
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return 0, &misfit{fmt.Sprintf("%s gives a job at most %d nodes, %d are asked for", name, p.MaxNodes, nodes), fmt.Sprintf("nodes = %d", p.MaxNodes)}
	case p.MinNodes > nodes:
		return 0, &misfit{fmt.Sprintf("%s takes jobs of %d nodes or more, %d are asked for", name, p.MinNodes, nodes), fmt.Sprintf("nodes = %d", p.MinNodes)}
	case p.CPUs > 0 && ceilDiv(s.CPUs, nodes) > p.CPUs:
		return 0, &misfit{fmt.Sprintf("a node of %s has %d cores, %d are asked for", name, p.CPUs, ceilDiv(s.CPUs, nodes)), fmt.Sprintf("cpus = %d", p.CPUs*nodes)}
	case p.Memory > 0 && s.Memory > p.Memory*int64(nodes):
		return 0, &misfit{fmt.Sprintf("a node of %s has %s of memory, %s are asked for", name, units.FormatSize(p.Memory), units.FormatSize(s.Memory)), "less memory"}
	}
	if bad := fitGPU(p, s, name, nodes); bad != nil {
		return 0, bad
	}
	return fitTime(p, s, checkpoint, name)
}

func fitGPU(p offer.Pool, s offer.Shape, name string, nodes int) *misfit {
	if s.GPUs == 0 {
		return nil
	}
	switch {
	case p.GPUs == 0:
		return &misfit{name + " has no GPUs", ""}
	case ceilDiv(s.GPUs, nodes) > p.GPUs:
		return &misfit{fmt.Sprintf("a node of %s has %d GPUs, %d are asked for", name, p.GPUs, ceilDiv(s.GPUs, nodes)), fmt.Sprintf("gpus = %d", p.GPUs*nodes)}
	case !modelFits(p, s.GPU.Models):
		return &misfit{fmt.Sprintf("%s has %s, not %s", name, orUnknown(p.GPUModel), strings.Join(s.GPU.Models, " or ")), fmt.Sprintf("models = [%q]", p.GPUClass)}
	case s.GPU.Memory > 0 && p.GPUMem > 0 && p.GPUMem < s.GPU.Memory:
		return &misfit{fmt.Sprintf("a GPU of %s has %s, %s are asked for", name, units.FormatSize(p.GPUMem), units.FormatSize(s.GPU.Memory)), "less GPU memory"}
	}
	return nil
}

// modelFits compares names as people write them: case and the vendor's prefix
// do not matter, and a slice of a device is of the device's family.
func modelFits(p offer.Pool, models []string) bool {
	if len(models) == 0 {
		return true
	}
	for _, m := range models {
		if plain(m) == plain(p.GPUModel) || plain(m) == plain(p.GPUClass) || strings.Contains(plain(p.GPUModel), plain(m)) {
			return true
		}
	}
	return false
}

func plain(model string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "", "nvidia", "").Replace(strings.ToLower(model))
}

func fitTime(p offer.Pool, s offer.Shape, checkpoint bool, name string) (int, *misfit) {
	if p.MaxTime == 0 || s.Walltime <= p.MaxTime {
		return 1, nil
	}
	limit := units.ShortDuration(p.MaxTime)
	if !checkpoint {
		return 0, &misfit{fmt.Sprintf("%s ends jobs at %s, %s are asked for", name, limit, units.ShortDuration(s.Walltime)),
			"add a checkpoint block, and the phase is run as chained segments"}
	}
	usable := p.MaxTime - segmentMargin
	if usable <= 0 {
		usable = p.MaxTime
	}
	return int((s.Walltime + usable - 1) / usable), nil
}

func poolName(p offer.Pool) string {
	if p.Name == "" {
		return p.Backend
	}
	if p.Word == "" {
		return p.Name
	}
	return p.Word + " " + p.Name
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown GPU"
	}
	return s
}

func ceilDiv(a, b int) int { return (a + b - 1) / max(b, 1) }
