package planner

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
)

// A overflowCase is the jobs of one request of a phase that may overflow.
type overflowCase struct {
	Phase         string
	First, Second place.Decision
	Jobs          int // that start
	InFlight      int // of the phase on First already
	Free          int // of Jobs that may go to Second
	At, There     placeQueue
	MaxParallel   int  // of the phase, over both places; 0 = no cap
	Smoke         bool // a smoke goes ahead, where the phase goes first
	// Afford is how many of n jobs the budgets leave room for on Second, and
	// which budget ends it.
	Afford func(n int) (most int, bound string)
}

// A spillover is the outcome for the jobs of a case.
type spillover struct {
	N   int    // how many go to the second place
	Not string // why none does

	phase    string
	from, to string
	of       int
	end      time.Duration // as spilled, from the first start
	cost     string        // of the spilled at most, in words
	cheapest overflowWay
	fastest  overflowWay
	bound    string // the bound on their number, "" when more would end no sooner
	tried    string // the backend of the phase's smoke, "" without one
}

// noOverflow is a case without a second place.
func noOverflow(phase, why string) spillover { return spillover{phase: phase, Not: why} }

// Spared is a case that need not overflow, with its figures.
func (s spillover) Spared(why string) spillover {
	if s.N > 0 {
		why += fmt.Sprintf(". With it, %d of %s would go to %s, for at most %s, and it would take about %s; without, %s", s.N, amount.Jobs(s.of), s.to, s.cost, units.ShortDuration(s.end), s.cheapest)
	}
	return noOverflow(s.phase, why)
}

// Decide finds the smallest number of jobs that ends the case soonest.
func (c overflowCase) Decide() spillover {
	s := spillover{phase: c.Phase, from: c.First.Where(), to: c.Second.Where(), of: c.Jobs}
	if c.Smoke {
		s.tried = c.First.Backend
	}
	at, there := c.At, c.There
	if c.MaxParallel > 0 {
		if there.Slots = min(there.Slots, int64(c.MaxParallel)-at.Slots); there.Slots <= 0 {
			s.Not = fmt.Sprintf("max_parallel = %d is reached without it", c.MaxParallel)
			return s
		}
	}
	if c.Free == 0 {
		s.Not = "every job of it is tried on " + s.from + " before the others start"
		return s
	}
	most, bound := c.Afford(c.Free)
	s.end = at.End(c.Jobs + c.InFlight)
	for k := 1; k <= most; k++ {
		if end := max(at.End(c.Jobs-k+c.InFlight), there.End(k)); end < s.end {
			s.N, s.end = k, end
		}
	}
	if s.N == 0 {
		if s.Not = bound; bound == "" {
			s.Not = "it would end no sooner"
		}
		return s
	}
	if s.N == most && most < c.Jobs {
		s.bound = bound
	}
	s.cost = overflowBill{}.plus(c.Second, s.N).String()
	s.cheapest, s.fastest = c.cheapest(), c.fastest(at, there)
	return s
}

// A placeQueue is how many jobs of a request run at once on a place, how long each
// takes and how long the first waits.
type placeQueue struct {
	Slots      int64 // at least 1
	Each, Wait time.Duration
}

// End is when so many jobs are through.
func (q placeQueue) End(jobs int) time.Duration {
	if jobs <= 0 {
		return 0
	}
	rounds := (int64(jobs) + q.Slots - 1) / q.Slots
	return q.Wait + time.Duration(rounds)*q.Each
}
