package forecast

import (
	"math"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// unlimited represents a resource nobody has stated a limit of.
const unlimited = math.MaxInt64 / 4

// A capacity is the amount that a pool can run at once.
type capacity struct{ jobs, gpus, cpus, memory int64 }

// need is the part of a pool that one job of a decision takes.
func need(p offer.Pool, d place.Decision) capacity {
	p.WholeNode = d.WholeNode
	r := p.Takes(d.Price.Given(d.Shape))
	return capacity{1, int64(r.Devices), int64(r.Cores), r.Memory}
}

// most is the part of a pool that our own jobs may hold together, whatever is
// free.
func most(p offer.Pool) capacity {
	c := capacity{unlimited, unlimited, unlimited, unlimited}
	for _, x := range []struct {
		have *int64
		most int64
	}{{&c.gpus, int64(p.Most.Devices)}, {&c.cpus, int64(p.Most.Cores)}, {&c.memory, p.Most.Memory}} {
		if x.most > 0 {
			*x.have = x.most
		}
	}
	return c
}

// holding is the part that one job of a decision holds: all that its nodes give it, with a
// rest that no other job can use.
func holding(p offer.Pool, d place.Decision) capacity {
	p.WholeNode = d.WholeNode
	r := p.Gives(d.Price.Given(d.Shape))
	return capacity{0, int64(r.Devices), int64(r.Cores), r.Memory}
}

// counted leaves out of a need the resources that the pool does not limit, so
// that jobs that differ only in them wait in one line. A job on GPUs with the
// one core that every job has is counted by its GPUs, as the queue of a
// machine counts it.
func (c capacity) counted(n capacity) capacity {
	if n.gpus > 0 && n.cpus <= 1 {
		n.cpus = 0
	}
	for _, x := range []struct{ have, need *int64 }{{&c.gpus, &n.gpus}, {&c.cpus, &n.cpus}, {&c.memory, &n.memory}} {
		if *x.have == unlimited {
			*x.need = 0
		}
	}
	return n
}

// atLeast makes room for one job: a job that fits a pool runs there once
// strangers leave, even if it does not fit beside them now.
func (c *capacity) atLeast(n capacity) {
	c.jobs, c.gpus, c.cpus, c.memory = max(c.jobs, n.jobs), max(c.gpus, n.gpus), max(c.cpus, n.cpus), max(c.memory, n.memory)
}

func (c *capacity) take(n capacity, times int64) {
	c.jobs -= n.jobs * times
	c.gpus -= n.gpus * times
	c.cpus -= n.cpus * times
	c.memory -= n.memory * times
}

// room is how many jobs of a need fit.
func (c capacity) room(n capacity) int64 {
	r := int64(unlimited)
	for _, x := range [][2]int64{{c.jobs, n.jobs}, {c.gpus, n.gpus}, {c.cpus, n.cpus}, {c.memory, n.memory}} {
		if x[1] > 0 {
			r = min(r, x[0]/x[1])
		}
	}
	return max(r, 0)
}

// poolCapacity is the part of a pool that we may use: the free part where that is known, and
// the part that our own jobs hold, both in devices, or in cores where the pool has none. The
// jobs of others stay.
func poolCapacity(p offer.Pool, ours int64) capacity {
	c := capacity{unlimited, unlimited, unlimited, unlimited}
	if p.MaxJobs > 0 {
		c.jobs = int64(p.MaxJobs)
	}
	free := freeUnits(p, ours)
	if free > 0 && p.HasDevices() {
		c.gpus = free
	}
	if p.OneMachine() {
		if p.CPUs > 0 {
			c.cpus = int64(p.CPUs)
		}
		if p.Memory > 0 {
			c.memory = p.Memory
		}
		return c
	}
	// Of nodes a part is free, and of their cores and memory the same part.
	node := int64(p.CPUs)
	if p.HasDevices() {
		node = int64(p.GPUs)
	}
	if free <= 0 || node <= 0 {
		return c
	}
	if p.CPUs > 0 {
		c.cpus = free * int64(p.CPUs) / node
	}
	if p.Memory > 0 {
		c.memory = int64(float64(p.Memory) / float64(node) * float64(free))
	}
	return c
}

// Held is the part of a pool that a job of a shape holds, as poolCapacity counts
// it: all that its nodes give it.
func Held(p offer.Pool, s offer.Shape) int64 {
	s = s.Given()
	if p.HasDevices() {
		return int64(s.GPUs)
	}
	return int64(max(s.CPUs, 1))
}

// A Room is the part of a pool that we may use at once; 0 where nothing limits
// it.
type Room struct {
	Jobs, Devices, Cores int
	Memory               int64
}

// RoomOf is the room of a pool of which our own jobs hold so much; see Held.
func RoomOf(p offer.Pool, ours int64) Room {
	c, own := poolCapacity(p, ours), most(p)
	c.gpus, c.cpus, c.memory = min(c.gpus, own.gpus), min(c.cpus, own.cpus), min(c.memory, own.memory)
	limit := func(n int64) int64 {
		if n >= unlimited {
			return 0
		}
		return n
	}
	return Room{Jobs: int(limit(c.jobs)), Devices: int(limit(c.gpus)), Cores: int(limit(c.cpus)), Memory: limit(c.memory)}
}

// AtOnce is how many jobs of a decision a pool runs at once, strangers' share
// left out; 1 where nothing is known that would bound them.
func AtOnce(p offer.Pool, d place.Decision) int64 {
	if n, bounded := Bound(p, d); bounded {
		return n
	}
	return 1
}

// Bound is how many jobs of a decision a pool runs at once, at least 1, and
// whether anything is known that bounds them.
func Bound(p offer.Pool, d place.Decision) (jobs int64, bounded bool) {
	p = d.Limits.On(p)
	c := poolCapacity(p, 0)
	n := c.counted(need(p, d))
	c.atLeast(n)
	room := min(c.room(n), most(p).room(holding(p, d)))
	return max(room, 1), room < unlimited
}

// freeUnits is how many devices we may use at once, or cores of a pool without
// any; 0 = not known.
func freeUnits(p offer.Pool, ours int64) int64 {
	free := int64(p.Total)
	switch {
	case p.Idle > 0:
		free = int64(p.Idle) + ours
		if p.Total > 0 {
			free = min(free, int64(p.Total)) // of ours some may have ended since
		}
	case p.Total > p.Others:
		free = int64(p.Total - p.Others)
	}
	if p.OneMachine() && p.GPUs > 0 && (free <= 0 || free > int64(p.GPUs)) {
		free = int64(p.GPUs)
	}
	return free
}
