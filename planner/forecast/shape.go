package forecast

import (
	"math"
	"slices"
	"time"
)

// A shape is how the runtimes of a phase spread around their mean, as enough of
// them were seen to say: two kinds of jobs, or a few that take ten times as
// long, are nothing that a mean and a spread tell.
type shape struct {
	logs   []float64 // of the runtimes beside their mean, least first
	spread float64   // standard deviation of log t
}

// mostShape is how many runtimes make a shape; of more, as many quantiles.
const mostShape = 200

// shapeOf is the shape of runtimes; nil where they are too few to have one.
func shapeOf(seen []time.Duration, expected time.Duration) *shape {
	if len(seen) < enoughForRank || expected <= 0 {
		return nil
	}
	v := slices.Sorted(slices.Values(seen))
	if v[0] <= 0 || v[0] == v[len(v)-1] {
		return nil
	}
	s := &shape{}
	n := min(len(v), mostShape)
	for k := range n {
		s.logs = append(s.logs, math.Log(float64(v[(2*k+1)*len(v)/(2*n)])/float64(expected)))
	}
	s.spread = spreadOf(v)
	sum := 0.0
	const fine = 400
	for k := range fine {
		sum += math.Exp(s.at(deviation((float64(k)+0.5)/fine), 1)) / fine
	}
	for k := range s.logs {
		s.logs[k] -= math.Log(sum) // so that draws have the mean
	}
	return s
}

// spreadOf is the standard deviation of log t, or the one that a sum of such
// values has, where a few large ones make it more.
func spreadOf(v []time.Duration) float64 {
	var logs, squares, mean, square float64
	n := float64(len(v))
	for _, d := range v {
		l := math.Log(d.Seconds())
		logs, squares = logs+l/n, squares+l*l/n
		mean, square = mean+d.Seconds()/n, square+d.Seconds()*d.Seconds()/n
	}
	more := n / (n - 1)
	return math.Sqrt(max((squares-logs*logs)*more, math.Log(1+(square/(mean*mean)-1)*more), 0))
}

// at is how far off the mean, in log t, a job is that is so many deviations off
// by itself: as its rank among those seen, and beyond them as their spread has
// it. share is its own part of the spread.
func (s *shape) at(z, share float64) float64 {
	n := float64(len(s.logs))
	rank := below(z)*n - 0.5
	last := len(s.logs) - 1
	switch {
	case rank <= 0:
		return s.logs[0] + share*s.spread*min(z-deviation(0.5/n), 0)
	case rank >= float64(last):
		return s.logs[last] + share*s.spread*max(z-deviation(1-0.5/n), 0)
	}
	lo := int(rank)
	return s.logs[lo] + (rank-float64(lo))*(s.logs[lo+1]-s.logs[lo])
}
