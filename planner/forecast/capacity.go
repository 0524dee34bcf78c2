package forecast

import (
	"math"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// unlimited stands for a resource nobody has stated a limit of.
const unlimited = math.MaxInt64 / 4

// A capacity is what a pool can run at once. Cores and memory count only
// where the pool is one machine; a scheduler's nodes are its own business.
type capacity struct{ jobs, gpus, cpus, memory int64 }

// need is what one job of a decision takes of its pool.
func need(d place.Decision) capacity {
	return capacity{1, int64(d.Shape.GPUs), int64(max(d.Shape.CPUs, 1)), d.Shape.Memory}
}

func (c *capacity) take(n capacity, times int64) {
	c.jobs -= n.jobs * times
	c.gpus -= n.gpus * times
	c.cpus -= n.cpus * times
	c.memory -= n.memory * times
}

// room is how many jobs of a need fit.
func (c capacity) room(n capacity) int64 {
	r := c.jobs
	for _, x := range [][2]int64{{c.gpus, n.gpus}, {c.cpus, n.cpus}, {c.memory, n.memory}} {
		if x[1] > 0 {
			r = min(r, x[0]/x[1])
		}
	}
	return max(r, 0)
}

// poolCapacity is what we may use of a pool: what is free now where that is
// known, for others' jobs are not ours to end.
func poolCapacity(p offer.Pool) capacity {
	c := capacity{unlimited, unlimited, unlimited, unlimited}
	if p.MaxJobs > 0 {
		c.jobs = int64(p.MaxJobs)
	}
	free := p.Idle
	if free <= 0 {
		free = p.Total - p.Others
	}
	if free <= 0 {
		free = p.Total
	}
	if p.GPUs > 0 || p.GPUModel != "" {
		if free > 0 {
			c.gpus = int64(free)
		} else if oneMachine(p) {
			c.gpus = int64(p.GPUs)
		}
	}
	if oneMachine(p) {
		if p.CPUs > 0 {
			c.cpus = int64(p.CPUs)
		}
		if p.Memory > 0 {
			c.memory = p.Memory
		}
	}
	return c
}

// oneMachine reports whether a pool's cores and memory are all there is.
func oneMachine(p offer.Pool) bool { return p.Word == "machine" || p.Word == "GPU" || p.Word == "host" }
