package machine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// memory is the memory of this machine, or of its cgroup, in bytes; 0 = unknown.
var memory = sync.OnceValue(func() int64 {
	total := kernel.Memory()
	// cgroup-v2, memory.max; cgroup-v1, memory.limit_in_bytes.
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && n < total {
			total = n
		}
	}
	return total
})

// Pool is this machine as a place sees it now. Busy is the resources of the queue's jobs, zero
// if no queue runs.
func Pool(ctx context.Context, p Tenant, reader gpu.Reader, busy Busy) (offer.Pool, error) {
	pool := offer.Pool{Backend: p.Backend, Kind: offer.MachinePool, Word: "machine", CPUs: p.Cores(), Memory: p.Bytes(), MaxNodes: 1, MinNodes: 1,
		Total: p.Cores(), Idle: max(p.Cores()-busy.CPUs, 0), Wait: 0, Source: "live", MaxJobs: slots(p, p.Cores()), Notes: slices.Clone(kernel.Lacks)}
	list, err := reader.Devices(ctx)
	if err != nil {
		pool.Notes = append(pool.Notes, "the GPUs cannot be read: "+err.Error())
		return pool, nil
	}
	var use []gpu.Device
	for _, d := range list {
		if p.MayUse(d) {
			use = append(use, d)
		}
	}
	if absent := p.GPUs.Absent(list); len(absent) > 0 {
		pool.Notes = append(pool.Notes, "this machine has no GPU "+strings.Join(absent, ", ")+", which gpus names")
	}
	if len(use) == 0 {
		return pool, nil
	}
	pool.GPUs, pool.Total = len(use), len(use)
	pool.GPUModel, pool.GPUMem = use[0].Model, use[0].Memory
	pool.GPUClass = pool.GPUModel
	if p.Slots == 0 {
		pool.MaxJobs = least(p.MaxParallel, max(len(use), p.Cores()))
	}
	countGPUs(&pool, p, use, busy.GPUs)
	return pool, nil
}

// Busy is the resources of a queue's running jobs.
type Busy struct {
	CPUs, Jobs int
	GPUs       []string // by gpu.Device.ID
}

// slots is how many jobs of one core run at once.
func slots(p Tenant, cores int) int {
	return least(p.MaxParallel, least(p.Slots, cores))
}

// least is the smaller of two limits, 0 being none.
func least(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func countGPUs(pool *offer.Pool, p Tenant, use []gpu.Device, held []string) {
	pool.Idle = 0
	models := map[string]int{}
	for _, d := range use {
		models[d.Name]++
		pool.GPUMem = min(pool.GPUMem, d.Memory)
		switch why := d.Busy(p.FreeMax()); {
		case slices.Contains(held, d.ID()): // by one of our jobs
		case why == "":
			pool.Idle++
		default:
			pool.Others++
			pool.Notes = append(pool.Notes, why)
		}
	}
	if len(models) > 1 {
		var list []string
		for m, n := range models {
			list = append(list, fmt.Sprintf("%d × %s", n, m))
		}
		slices.Sort(list)
		pool.Notes = append(pool.Notes, "GPUs: "+strings.Join(list, ", "))
	}
}

// Fit reports whether a shape can run on a place's pool, and which change would make it fit.
func (p Tenant) Fit(s offer.Shape, pool offer.Pool, gpus []gpu.Device) (fits bool, why, would string) {
	switch {
	case s.Nodes > 1:
		return false, fmt.Sprintf("one machine, and the job asks for %d nodes", s.Nodes), "choose a scheduler"
	case s.CPUs > pool.CPUs && pool.CPUs > 0:
		return false, fmt.Sprintf("the machine gives out %d cores, and the job asks for %d", pool.CPUs, s.CPUs), fmt.Sprintf("cpus = %d", pool.CPUs)
	case s.Memory > pool.Memory && pool.Memory > 0:
		return false, fmt.Sprintf("the machine gives out %s of memory, and the job asks for %s", size(pool.Memory), size(s.Memory)), "ask for less memory"
	case s.GPUs > 0 && pool.GPUs == 0:
		return false, "the machine has no GPU", "choose a backend with GPUs"
	case s.GPUs > pool.GPUs:
		return false, fmt.Sprintf("the machine has %d GPUs, and the job asks for %d", pool.GPUs, s.GPUs), fmt.Sprintf("gpus = %d", pool.GPUs)
	}
	if s.GPUs == 0 {
		return true, "", ""
	}
	good := 0
	for _, d := range gpus {
		if !p.MayUse(d) {
			continue
		}
		if lacks := d.Lacks(s.GPU, s.GPUs); lacks != "" {
			why = lacks
		} else {
			good++
		}
	}
	if good < s.GPUs {
		if good > 0 {
			why = fmt.Sprintf("%d of its GPUs suit, and the job asks for %d", good, s.GPUs)
		}
		return false, why, "ask for another model or less GPU memory"
	}
	return true, "", ""
}

// size prints bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
	case n >= 1<<20:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
