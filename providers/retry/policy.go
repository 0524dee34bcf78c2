// Package retry is the only retry policy. It decides which failures muster
// retries, the request of the next launch, how large a launch may become, and
// when to give up. The language checks policies with it, the planner counts
// launches with it, and the engine, the queue of a host, the node program and
// the simulated backend act on it. It keeps no state, so all of them agree.
package retry

import (
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Policy is the retry policy of a job. The zero value launches once. Spools and queues keep
// its JSON: fields are only added, and an absent one has its old meaning.
type Policy struct {
	On    []string         `json:"on,omitempty"`  // failure classes, or "oom" for its three
	Max   int              `json:"max,omitempty"` // launches, the first included; 0 is 1
	Delay time.Duration    `json:"delay,omitempty"`
	Scale map[string]Scale `json:"scale,omitempty"` // by class, or "oom"
}

// Scale multiplies a job's request after a failure; 0 leaves a resource as it
// is.
type Scale struct {
	Memory, CPUs, GPUs, Walltime, Disk float64
}

// Launches is how many launches a job may have in all, the first included.
func (p Policy) Launches() int { return max(p.Max, 1) }

// Covers reports whether retry.on names a class, by itself or by its family.
func (p Policy) Covers(class string) bool {
	return slices.ContainsFunc(p.On, func(on string) bool { return failure.Is(class, on) })
}

// ScaleFor is the scale that applies to a class. The most specific one wins:
// of "oom" and "oom_host", an oom_host takes its own alone.
func (p Policy) ScaleFor(class string) (by Scale, ok bool) {
	_, by, ok = forClass(p.Scale, class)
	return by, ok
}

// forClass is the row of a class in a table by class, and the name under which
// it was found.
func forClass[T any](of map[string]T, class string) (name string, v T, ok bool) {
	if v, ok = of[class]; ok {
		return class, v, true
	}
	for name, v := range of { // at most one: there is one family
		if failure.Is(class, name) {
			return name, v, true
		}
	}
	return "", v, false
}

// Grow is the request of a launch after one that failed with a class: the scale of the class
// on each resource, rounded up to whole units, within the bound. A shape above the bound
// stays.
func (p Policy) Grow(s offer.Shape, class string, most Bound) offer.Shape {
	by, ok := p.ScaleFor(class)
	if !ok {
		return s
	}
	return most.within(by.times(s), s)
}

// GrowAll is the request of a launch after failures with these classes, oldest
// first.
func (p Policy) GrowAll(s offer.Shape, classes []string, most Bound) offer.Shape {
	for _, class := range classes {
		s = p.Grow(s, class, most)
	}
	return s
}

// times multiplies the request of a shape.
func (by Scale) times(s offer.Shape) offer.Shape {
	s.Memory, s.Disk = times(s.Memory, by.Memory, mostBytes), times(s.Disk, by.Disk, mostBytes)
	s.CPUs, s.GPUs = int(times(int64(s.CPUs), by.CPUs, mostUnits)), int(times(int64(s.GPUs), by.GPUs, mostUnits))
	s.Walltime = time.Duration(times(int64(s.Walltime), by.Walltime, int64(mostTime)))
	return s
}

// The bounds of growth where nothing else bounds it: far more than exists, and
// little enough to count with.
const (
	mostBytes = 1 << 60
	mostUnits = 1 << 30
	mostTime  = 10 * 365 * 24 * time.Hour
)

// larger reports whether a shape asks for more of anything than another.
func larger(a, b offer.Shape) bool {
	return a.Memory > b.Memory || a.Disk > b.Disk || a.CPUs > b.CPUs || a.GPUs > b.GPUs || a.Walltime > b.Walltime
}

// rounding is how far above a whole number a product counts as that number: the
// error of a float, and not a part of a core.
const rounding = 1e-9

// times is n·by, rounded up, and no more than most. A factor that is no positive
// number leaves n.
func times(n int64, by float64, most int64) int64 {
	if !(by > 0) || by == 1 || n <= 0 {
		return n
	}
	v := float64(n) * by
	if v >= float64(most) {
		return max(n, most)
	}
	if whole := math.Round(v); math.Abs(v-whole) <= rounding*whole {
		v = whole
	}
	return max(int64(math.Ceil(v)), 1)
}

// A Bound is the most that one job may be given where it goes; 0 is no limit
// stated.
type Bound struct {
	CPUs, GPUs int
	Memory     int64 // bytes, of all nodes together
	Walltime   time.Duration
}

// BoundOf is the most that a pool may give a job of so many nodes.
func BoundOf(p offer.Pool, nodes int) Bound {
	n := max(nodes, 1)
	return Bound{CPUs: p.CPUs * n, GPUs: p.GPUs * n, Memory: p.Memory * int64(n), Walltime: p.MaxTime}
}

// within cuts a grown shape to the bound, but never below the launch before:
// that one fitted, as a qos may allow more than its partition.
func (b Bound) within(s, before offer.Shape) offer.Shape {
	s.CPUs, s.GPUs = cut(s.CPUs, b.CPUs, before.CPUs), cut(s.GPUs, b.GPUs, before.GPUs)
	s.Memory, s.Walltime = cut(s.Memory, b.Memory, before.Memory), cut(s.Walltime, b.Walltime, before.Walltime)
	return s
}

func cut[T int | int64 | time.Duration](v, most, before T) T {
	if most <= 0 {
		return v
	}
	return min(v, max(most, before))
}
