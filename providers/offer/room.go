package offer

// OneMachine reports whether a pool's cores and memory are all there is, and
// not those of one node of many.
func (p Pool) OneMachine() bool { return p.Kind == MachinePool || p.Kind == HostPool }

// HasDevices reports whether the counts of a pool are of devices; else of cores.
func (p Pool) HasDevices() bool { return p.GPUs > 0 || p.GPUModel != "" }

// A Room is the part of a pool that a job takes, or the size of a pool.
type Room struct {
	Devices, Cores int
	Memory         int64 // bytes
}

// over is a limit of like jobs, NoLimit where they have none, over that of their pool.
func (r Room) over(pool Room) Room {
	pick := func(own, pool int64) int64 {
		if own == 0 {
			return pool
		}
		return max(own, 0)
	}
	return Room{int(pick(int64(r.Devices), int64(pool.Devices))), int(pick(int64(r.Cores), int64(pool.Cores))), pick(r.Memory, pool.Memory)}
}

// MostJobs is how many jobs of a shape our limits there let run at once, at least 1; 0 =
// any number.
func (p Pool) MostJobs(s Shape) int {
	most, takes := p.MaxJobs, p.Gives(p.Price.Given(s))
	for _, x := range [][2]int64{{int64(p.Most.Devices), int64(takes.Devices)}, {int64(p.Most.Cores), int64(takes.Cores)}, {p.Most.Memory, takes.Memory}} {
		if x[0] > 0 && x[1] > 0 {
			if n := int(max(x[0]/x[1], 1)); most == 0 || n < most {
				most = n
			}
		}
	}
	return most
}

// Gives is the room that a pool gives a job of a shape: whole nodes where a site gives only
// these.
func (p Pool) Gives(s Shape) Room {
	r := Room{s.GPUs, max(s.CPUs, 1), s.Memory}
	nodes := max(s.Nodes, 1)
	switch {
	case s.Beside() > 1: // its share of a node
		return Room{max(r.Devices, p.GPUs/s.Beside()), max(r.Cores, p.CPUs/s.Beside()), r.Memory}
	case p.WholeNode:
		r.Devices, r.Cores = max(r.Devices, nodes*p.GPUs), max(r.Cores, nodes*p.CPUs)
	}
	return r
}

// Takes is the part of a pool that a job of a shape takes. It takes whole nodes
// when no other like it fits beside it: of nodes with three devices a job of
// two takes three.
func (p Pool) Takes(s Shape) Room {
	r, nodes := p.Gives(s), max(s.Nodes, 1)
	if p.OneMachine() || s.Beside() > 1 {
		return r
	}
	return Room{filling(r.Devices, p.GPUs, nodes), filling(r.Cores, p.CPUs, nodes), filling(r.Memory, p.Memory, nodes)}
}

// filling is the part of so many nodes that a job uses up: its own part, and
// rests that are too small for another job like it.
func filling[T int | int64](takes, node T, nodes int) T {
	each := (takes + T(nodes) - 1) / T(nodes)
	if each <= 0 || node < each {
		return takes
	}
	return node / (node / each) * T(nodes)
}

// Given is a shape as its nodes give it, which they do alike: three devices over
// two nodes are two of each.
func (s Shape) Given() Shape {
	if nodes := s.Nodes; nodes > 1 {
		s.GPUs, s.CPUs = alike(s.GPUs, nodes), alike(max(s.CPUs, 1), nodes)
	}
	return s
}

// Given is a shape as a place with this price gives and charges it.
func (p Price) Given(s Shape) Shape {
	if s = s.Given(); s.Beside() > 1 {
		return s // one job of the scheduler gets it for all of them
	}
	s.CPUs, s.GPUs = max(s.CPUs, p.CPUs), max(s.GPUs, p.GPUs)
	return s
}

// alike is n in equal parts of so many nodes, rounded up, in all.
func alike(n, nodes int) int { return (n + nodes - 1) / nodes * nodes }
