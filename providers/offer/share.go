package offer

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Shared jobs: like jobs that are one job of a scheduler. Some run beside one another,
// each in a slot of its own; the others follow in turns.

// Packs is how many jobs of a shape share one node of a pool; 1 = none do. A smoke,
// and a job that has or needs more than half of a node, has it alone.
func (p Pool) Packs(s Shape) int {
	if !p.Pack || s.Smoke || s.Nodes > 1 || p.CPUs <= 0 && p.GPUs <= 0 {
		return 1
	}
	n := math.MaxInt
	limit := func(has, takes int64) {
		if has > 0 && takes > 0 {
			n = min(n, int(has/takes))
		}
	}
	limit(int64(p.CPUs), int64(max(s.CPUs, 1)))
	limit(int64(p.GPUs), int64(s.GPUs))
	limit(p.Memory, s.Memory)
	return max(n, 1)
}

// Turns is how many jobs of a shape may follow one another in one allocation of a pool if
// each takes so long; 1 = no second job fits. The last job may need all of its walltime,
// since a job that may not end in time does not begin.
func (p Pool) Turns(s Shape, takes time.Duration) int {
	most := p.Longest()
	if most <= 0 || s.Smoke || s.Nodes > 1 || s.Walltime <= 0 || s.Walltime > most {
		return 1
	}
	if takes <= 0 || takes > s.Walltime {
		takes = s.Walltime
	}
	return 1 + int((most-s.Walltime)/takes)
}

// Longest is the longest walltime of an allocation in which jobs take turns; 0 = none
// do.
func (p Pool) Longest() time.Duration {
	if p.MaxTime > 0 {
		return min(p.Allocation, p.MaxTime)
	}
	return p.Allocation
}

// Alone is a shape that shares its nodes with no other job.
func (s Shape) Alone() Shape {
	s.Pack, s.Slots, s.Allocation = 0, 0, 0
	return s
}

// Together is the shape of one of n jobs of a pack.
func (s Shape) Together(n int) Shape {
	if n < 2 {
		return s.Alone()
	}
	s.Pack = n
	return s
}

// Beside is how many jobs of a pack run beside one another.
func (s Shape) Beside() int {
	if s.Slots > 0 {
		return max(min(s.Slots, s.Pack), 1)
	}
	return max(s.Pack, 1)
}

// Turns is how many jobs of a pack run one after another in a slot.
func (s Shape) Turns() int { return (max(s.Pack, 1) + s.Beside() - 1) / s.Beside() }

// Lasts is the walltime of the scheduler's job: as long as all of a pack may need, and no
// longer than its allocation may be.
func (s Shape) Lasts() time.Duration {
	all := time.Duration(s.Turns()) * s.Walltime
	if s.Turns() > 1 && s.Allocation > 0 {
		return min(all, s.Allocation)
	}
	return all
}

// A Change is that of the number of jobs that run on a node.
type Change struct {
	At int64 // nanoseconds since 1970
	By int
}

// ShareOf is the part of a pack's time that counts as that of one job, which ran from one
// time to another: at any time the node is that of all jobs that run, in equal parts, so
// that the shares of all add up to how long the pack lasts.
func ShareOf(changes []Change, since, until int64) (own time.Duration) {
	changes = slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	running := int64(0)
	for i, c := range changes {
		running += int64(c.By)
		to := until
		if i+1 < len(changes) {
			to = min(to, changes[i+1].At)
		}
		own += time.Duration(max(to-max(c.At, since), 0) / max(running, 1))
	}
	return own
}
