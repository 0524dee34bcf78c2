// Package ceiling bounds the launches of one job where a plan puts it: how many
// there may be, how large each may grow under its retry policy, and the most
// that they may cost together. The bound is never below the actual cost.
package ceiling

import (
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// Shapes are the shapes that the launches of one job may grow to, the first
// included, up to the size of the pool. Nil when no launch differs from the
// first.
func Shapes(s offer.Shape, r lang.Retry, pool offer.Pool) []offer.Shape {
	most := retry.BoundOf(pool, s.Nodes)
	if r.Alike(s, most) {
		return nil
	}
	return r.Worst(s, most)
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

// Most is how often a job of a shape may be launched in all on a pool: as often
// as the policy allows, and once more for each segment after the first.
func Most(s offer.Shape, r lang.Retry, segments int, pool offer.Pool) int {
	return r.InSegments(segments).Count(Segment(s, segments), retry.BoundOf(pool, s.Nodes))
}

// Chained is how many launches a job may have whose work goes on in the next when
// one is ended at its walltime.
func Chained(r lang.Retry, segments int) int { return r.InSegments(segments).Launches() }

// every lists the shapes of all launches that a job on a pool may need; nil
// when they are one launch's, as decided, over and over.
func every(s offer.Shape, r lang.Retry, segments int, pool offer.Pool) []offer.Shape {
	s, r = Segment(s, segments), r.InSegments(segments)
	out := Shapes(s, r, pool)
	if out == nil && segments > 1 {
		out = slices.Repeat([]offer.Shape{s}, r.Count(s, retry.BoundOf(pool, s.Nodes)))
	}
	return alone(out)
}

// alone has launches after the first share nodes with no other job: nobody knows
// whether another fails with it.
func alone(launches []offer.Shape) []offer.Shape {
	for i := range launches {
		if i > 0 {
			launches[i] = launches[i].Alone()
		}
	}
	return launches
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

// MostOf is how often a decision's job may be launched on its pool.
func MostOf(d place.Decision, r lang.Retry, pools []offer.Pool) int {
	return Most(d.Shape, r, d.Segments, d.Limits.On(Pool(pools, d.Backend, d.Pool)))
}
