package history

import (
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/forecast"
)

// A spread of waits is shown from so many on, where they are long enough to matter.
const (
	enoughWaits = 5
	leastWait   = 30 * time.Second
)

// spread is the standard deviation of the logarithm of launches' waits for the
// queue, without waits for a place that one of ours had; 0 where too few were
// seen.
func (t *turnover) spread() float64 {
	var waits []time.Duration
	full := t.full()
	for _, s := range t.seen {
		if s.ready.IsZero() || s.began.Before(s.queued) || full.within(laterOf(s.queued, s.began.Add(-longestTurn)), s.began) {
			continue // it may have begun because a place was free again
		}
		waits = append(waits, s.began.Sub(s.queued))
	}
	if len(waits) < enoughWaits || forecast.Quantile(waits, 0.5) < leastWait {
		return 0
	}
	var sum, squares float64
	n := float64(len(waits))
	for _, d := range waits {
		l := math.Log(max(d, leastWait).Seconds())
		sum, squares = sum+l, squares+l*l
	}
	return math.Sqrt(max(squares-sum*sum/n, 0) / (n - 1))
}

// times are spans of time, in order, none of which touches another.
type times []struct{ from, to time.Time }

// within reports whether any of them has begun before the end of a span and not
// ended before it began.
func (ts times) within(from, to time.Time) bool {
	k, _ := slices.BinarySearchFunc(ts, from, func(s struct{ from, to time.Time }, at time.Time) int {
		if s.to.After(at) {
			return 1
		}
		return -1
	})
	return k < len(ts) && ts[k].from.Before(to)
}

// full are the times in which as many of our jobs ran as ever did: one more may
// have waited for their places.
func (t *turnover) full() (out times) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, s := range t.seen {
		changes = append(changes, change{s.began, 1}, change{s.ended, -1})
	}
	slices.SortFunc(changes, func(a, b change) int {
		if o := a.at.Compare(b.at); o != 0 {
			return o
		}
		return a.by - b.by
	})
	most, running := 0, 0
	for _, c := range changes {
		running += c.by
		most = max(most, running)
	}
	running = 0
	for i, c := range changes {
		if running += c.by; running == most && i+1 < len(changes) {
			out = append(out, struct{ from, to time.Time }{c.at, changes[i+1].at})
		}
	}
	return out
}
