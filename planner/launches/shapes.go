// Package launches says what the launches of one job may come to: how large each
// may grow under its retry policy, how many there may be, and the most that
// all of them may cost. What it says is never less than what is spent.
package launches

import (
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Shapes are the shapes that the launches of one job may grow to, the first
// included: before each next one the worst of the scales applies, up to what
// the pool has. Nil when no launch differs from the first.
func Shapes(s offer.Shape, r lang.Retry, pool offer.Pool) []offer.Shape {
	by := worstScale(r)
	if max(r.MaxAttempts, 1) == 1 || by == (lang.Scale{Memory: 1, CPUs: 1, GPUs: 1, Walltime: 1, Disk: 1}) {
		return nil
	}
	out := []offer.Shape{s}
	for n := 1; n < r.MaxAttempts; n++ {
		s = Bounded(Grow(s, by), s, pool)
		out = append(out, s)
	}
	return out
}

// Segment is the shape of one of the segments that a job is cut into where it
// is longer than its pool allows; each begins at the checkpoint of the one
// before.
func Segment(s offer.Shape, segments int) offer.Shape {
	if segments > 1 {
		s.Walltime = (s.Walltime/time.Duration(segments) + time.Minute - 1).Truncate(time.Minute)
	}
	return s
}

// Most is how often a job may be launched in all: what the policy
// allows, and once more for each segment after the first.
func Most(r lang.Retry, segments int) int {
	return max(r.MaxAttempts, 1) + max(segments, 1) - 1
}

// every lists the shapes of all launches that a job on a pool may need; nil
// when they are one launch's, as decided, over and over.
func every(s offer.Shape, r lang.Retry, segments int, pool offer.Pool) []offer.Shape {
	s, r.MaxAttempts = Segment(s, segments), Most(r, segments)
	out := Shapes(s, r, pool)
	if out == nil && segments > 1 {
		out = slices.Repeat([]offer.Shape{s}, r.MaxAttempts)
	}
	return out
}

// worstScale is the largest factor of each resource; nothing shrinks.
func worstScale(r lang.Retry) lang.Scale {
	out := lang.Scale{Memory: 1, CPUs: 1, GPUs: 1, Walltime: 1, Disk: 1}
	for _, f := range r.Scale {
		out.Memory, out.CPUs, out.GPUs = max(out.Memory, f.Memory), max(out.CPUs, f.CPUs), max(out.GPUs, f.GPUs)
		out.Walltime, out.Disk = max(out.Walltime, f.Walltime), max(out.Disk, f.Disk)
	}
	return out
}

// Grow multiplies what is asked for; a factor of 0 leaves it.
func Grow(s offer.Shape, f lang.Scale) offer.Shape {
	mul := func(v int64, by float64) int64 {
		if by <= 0 {
			return v
		}
		return int64(float64(v)*by + 0.5)
	}
	s.Memory, s.Disk = mul(s.Memory, f.Memory), mul(s.Disk, f.Disk)
	s.CPUs, s.GPUs = int(mul(int64(s.CPUs), f.CPUs)), int(mul(int64(s.GPUs), f.GPUs))
	s.Walltime = time.Duration(mul(int64(s.Walltime), f.Walltime))
	return s
}

// Bounded keeps a shape that grew within what a pool has; zero is no limit
// stated. The walltime is not cut below that of the shape before, which was found
// to fit: a qos of Slurm's may allow more than its partition does.
func Bounded(s, before offer.Shape, p offer.Pool) offer.Shape {
	nodes := max(s.Nodes, 1)
	if p.Memory > 0 {
		s.Memory = min(s.Memory, p.Memory*int64(nodes))
	}
	if p.CPUs > 0 {
		s.CPUs = min(s.CPUs, p.CPUs*nodes)
	}
	if p.GPUs > 0 {
		s.GPUs = min(s.GPUs, p.GPUs*nodes)
	}
	if p.MaxTime > 0 {
		s.Walltime = min(s.Walltime, max(p.MaxTime, before.Walltime))
	}
	return s
}

// Pool finds a pool by name, the zero one where there is none.
func Pool(pools []offer.Pool, backend, name string) offer.Pool {
	for _, p := range pools {
		if p.Backend == backend && p.Name == name {
			return p
		}
	}
	return offer.Pool{}
}

// Of are the shapes of a decision's launches on its pool.
func Of(d place.Decision, r lang.Retry, pools []offer.Pool) []offer.Shape {
	return every(d.Shape, r, d.Segments, d.Limits.On(Pool(pools, d.Backend, d.Pool)))
}
