package place

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// segmentMargin is left free at the end of each chained segment, so that its
// last checkpoint is written before the pool ends the job.
const segmentMargin = 10 * time.Minute

// A misfit is why a pool cannot take a shape, and what could be done.
type misfit struct {
	why, would string
	of         string // the resource that exceeds the pool's, "" for none
	// limit and short are set when the walltime alone is too long: the most
	// the pool allows, and that in words.
	limit time.Duration
	short string
	// passing says that it is over one day by itself; beside, that it says nothing
	// of the pool: the job names another one.
	passing, beside bool
	// quote is set where a backend knows better than its pool why the walltime is
	// too long.
	quote string
}

// either are two ways out.
func either(a, b string) string {
	if a == "" || b == "" || strings.Contains(a, b) {
		return orElse(a, b)
	}
	return a + "; or " + b
}

// Fits reports whether a pool can take a shape; with a checkpoint it may be cut into segments.
func Fits(p offer.Pool, s offer.Shape, checkpoint bool) bool {
	_, bad := fit(p, s, checkpoint)
	return bad == nil
}

// fit reports whether a pool can take a shape, in how many chained segments, and else all
// reasons why not, so that a shape said to fit does.
func fit(p offer.Pool, s offer.Shape, checkpoint bool) (segments int, bad *misfit) {
	segments, bad = fitFirst(p, s, checkpoint)
	if bad == nil || bad.would == "" || !adjust(&s, p, bad.of) {
		return segments, bad
	}
	if _, next := fit(p, s, checkpoint); next != nil {
		bad.why += "; " + next.why
		if bad.would += "; " + next.would; next.would == "" {
			bad.would = ""
		}
	}
	return 0, bad
}

// adjust sets a request to the pool's own amount of a resource; false where no request would
// do.
func adjust(s *offer.Shape, p offer.Pool, of string) bool {
	nodes := max(s.Nodes, 1)
	switch of {
	case "nodes":
		if s.Nodes = max(nodes, p.MinNodes); p.MaxNodes > 0 {
			s.Nodes = min(s.Nodes, p.MaxNodes)
		}
		return p.MaxNodes == 0 || p.MinNodes <= p.MaxNodes
	case "cpus":
		s.CPUs = p.CPUs * nodes
	case "memory":
		s.Memory = p.Memory * int64(nodes)
	case "gpus":
		s.GPUs = p.GPUs * nodes
	case "gpu.models":
		s.GPU.Models = nil
	case "gpu.memory":
		s.GPU.Memory = p.GPUMem
	default:
		return false
	}
	return true
}

// fitFirst is fit with the first reason only.
func fitFirst(p offer.Pool, s offer.Shape, checkpoint bool) (segments int, bad *misfit) {
	nodes := max(s.Nodes, 1)
	name, node := poolName(p), nodeOf(p)
	switch {
	case p.Testing && !s.Smoke:
		return 0, &misfit{why: name + " is for tests only"}
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return 0, &misfit{why: fmt.Sprintf("%s gives a job at most %s, but the job requests %d", name, units.Count(p.MaxNodes, "node"), nodes), would: fmt.Sprintf("nodes = %d", p.MaxNodes), of: "nodes"}
	case p.MinNodes > 1 && p.MinNodes > nodes:
		return 0, &misfit{why: fmt.Sprintf("%s takes jobs of %d nodes or more, but the job requests %d", name, p.MinNodes, nodes), would: fmt.Sprintf("nodes = %d", p.MinNodes), of: "nodes"}
	case p.CPUs > 0 && ceilDiv(s.CPUs, nodes) > p.CPUs:
		return 0, &misfit{why: fmt.Sprintf("%s has %s, but the job requests %d", node, units.Count(p.CPUs, "core"), ceilDiv(s.CPUs, nodes)), would: fmt.Sprintf("cpus = %d", p.CPUs*nodes), of: "cpus"}
	case p.Memory > 0 && s.Memory > p.Memory*int64(nodes):
		return 0, &misfit{why: fmt.Sprintf("%s has %s of memory, but the job requests %s", node, units.FormatSize(p.Memory), units.FormatSize(s.Memory)), would: fmt.Sprintf("memory = %q", units.FormatSize(p.Memory*int64(nodes))), of: "memory"}
	}
	if bad := fitGPU(p, s, nodes); bad != nil {
		return 0, bad
	}
	return fitTime(p, s, checkpoint, name)
}

func fitGPU(p offer.Pool, s offer.Shape, nodes int) *misfit {
	if s.GPUs == 0 {
		return nil
	}
	name, node := poolName(p), nodeOf(p)
	switch {
	case p.GPUs == 0:
		return &misfit{why: name + " has no GPUs", of: "gpus"}
	case ceilDiv(s.GPUs, nodes) > p.GPUs:
		return &misfit{why: fmt.Sprintf("%s has %s, but the job requests %d", node, units.Count(p.GPUs, "GPU"), ceilDiv(s.GPUs, nodes)), would: fmt.Sprintf("gpus = %d", p.GPUs*nodes), of: "gpus"}
	case !modelFits(p, s.GPU.Models):
		return &misfit{why: fmt.Sprintf("%s has %s, not %s", name, orUnknown(p.GPUModel), strings.Join(s.GPU.Models, " or ")), would: models(p), of: "gpu.models"}
	case s.GPU.Memory > 0 && p.GPUMem > 0 && p.GPUMem < s.GPU.Memory:
		return &misfit{why: fmt.Sprintf("a GPU of %s has %s, but the job requests %s", name, units.FormatSize(p.GPUMem), units.FormatSize(s.GPU.Memory)), would: fmt.Sprintf("gpu { memory = %q }", units.FormatSize(p.GPUMem)), of: "gpu.memory"}
	}
	return nil
}

// models are the GPUs of a pool as gpu of a job names them, "" if they are not known.
func models(p offer.Pool) string {
	if p.GPUModel == "" {
		return ""
	}
	return "models = [" + inQuotes(strings.Split(orElse(p.GPUClass, p.GPUModel), " or ")) + "]"
}

func inQuotes(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strconv.Quote(n)
	}
	return strings.Join(list, ", ")
}

func fitTime(p offer.Pool, s offer.Shape, checkpoint bool, name string) (int, *misfit) {
	if p.MaxTime == 0 || s.Walltime <= p.MaxTime {
		return 1, nil
	}
	usable := p.MaxTime - min(segmentMargin, p.MaxTime/10)
	segments := int((s.Walltime + usable - 1) / usable)
	if checkpoint {
		return segments, nil
	}
	limit := units.ShortDuration(p.MaxTime)
	bad := &misfit{of: "walltime", limit: p.MaxTime, short: "ends jobs at " + limit}
	bad.why = fmt.Sprintf("%s %s, but the job requests %s", name, bad.short, units.ShortDuration(s.Walltime))
	bad.would = fmt.Sprintf("add a checkpoint block, and the phase is run as %s chained segments", number(segments))
	if s.Smoke {
		bad.would = "let the smoke's walltime be at most " + limit
	}
	return 0, bad
}

// number is a small count in words.
func number(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
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

// nodeOf names the node into which a job's share must fit.
func nodeOf(p offer.Pool) string {
	if p.Kind == offer.MachinePool {
		return poolName(p)
	}
	return "a node of " + poolName(p)
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown GPU"
	}
	return s
}

func ceilDiv(a, b int) int { return (a + b - 1) / max(b, 1) }
