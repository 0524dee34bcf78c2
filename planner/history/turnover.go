package history

import (
	"slices"
	"time"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A turnover is the time in which a pool puts the next job where one has
// ended: a scheduler's cycle, epilog and prolog, or the other people who are
// served in between. The launches of one pool are added in any order.
type turnover struct{ seen []stay }

// A stay is one launch on a pool: from when it could have started, if that is
// known, to its end.
type stay struct {
	ready  time.Time // it waited for nothing more but its turn; zero = not known
	queued time.Time // it was submitted, where that is later
	began  time.Time
	ended  time.Time
}

const (
	// mostStays bounds the stays kept of a pool; more add nothing.
	mostStays = 5000
	// enoughTurns is from how many turns on their median counts.
	enoughTurns = 3
	// longestTurn is the longest time that counts as a turn: where it lasted
	// longer, others were served first, which is the queue's wait and not the
	// pool's pace.
	longestTurn = 10 * time.Minute
	// longestCycle bounds the wait for an idle place that counts as a turn:
	// slurm.conf(5) has a cycle of 60 s (sched_interval), and other schedulers none
	// longer.
	longestCycle = time.Minute
)

// add counts in a launch, with the time from which it waited for nothing more
// but its turn, if that is known.
func (t *turnover) add(at *state.Attempt, ready time.Time) {
	if len(t.seen) < mostStays && !at.Started.IsZero() && !at.Ended.IsZero() {
		t.seen = append(t.seen, stay{ready, laterOf(at.Queued, ready), at.Started, at.Ended})
	}
}

// takes is the time from the end of a job to the start of the next in its place:
// its median, the bound of nine in ten, and the number of turns. Where too few
// were seen, the waits for places that were idle stand in, and turns is 0. All
// are 0 where nothing is known.
func (t *turnover) takes() (each, late time.Duration, turns int) {
	var turn, idle []time.Duration
	var freed []time.Time // places that nobody has taken since, first freed first
	ends := slices.Clone(t.seen)
	slices.SortFunc(ends, func(a, b stay) int { return a.ended.Compare(b.ended) })
	slices.SortFunc(t.seen, func(a, b stay) int { return a.began.Compare(b.began) })
	for _, s := range t.seen {
		for len(ends) > 0 && !ends[0].ended.After(s.began) {
			freed = append(freed, ends[0].ended)
			ends = ends[1:]
		}
		var place time.Time
		if len(freed) > 0 {
			place, freed = freed[0], freed[1:]
		}
		switch {
		case s.ready.IsZero() || s.ready.After(s.began):
		case place.After(s.ready):
			turn = append(turn, min(s.began.Sub(place), longestTurn))
		default:
			idle = append(idle, min(max(0, s.began.Sub(s.queued)), longestCycle))
		}
	}
	if len(turn) >= enoughTurns {
		return forecast.Quantile(turn, 0.5), forecast.Quantile(turn, 0.9), len(turn)
	}
	return forecast.Quantile(idle, 0.5), forecast.Quantile(idle, 0.9), 0
}
