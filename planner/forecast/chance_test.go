package forecast

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/providers/offer"
)

// seenOf is a runtime of an hour in the median, spread so far, of which so many
// were seen.
func seenOf(n int, p90 float64) Runtime {
	return Runtime{Expected: time.Hour, Median: time.Hour, P90: time.Duration(p90 * float64(time.Hour)), Seen: n}
}

// TestClasses: the classes of a phase have as many cells as their quantiles
// say: over all cells the deviations have no mean, and a standard deviation of 1.
func TestClasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(40, 5000).Draw(t, "cells")
		own, top, late := quantiles(n)
		if late <= top || top < own[len(own)-2] {
			t.Fatalf("the longest of %d is at %.2f, late at %.2f, the next at %.2f", n, top, late, own[len(own)-2])
		}
		rank, sum, squares, longest := ranks(n, len(own), uint64(rapid.IntRange(0, 3).Draw(t, "deal"))), 0.0, 0.0, 0
		for k := range n {
			c := rank(k)
			if c == len(own)-1 {
				longest++
			}
			sum += own[c]
			squares += own[c] * own[c]
		}
		mean := sum / float64(n)
		if sd := math.Sqrt(squares / float64(n)); math.Abs(mean) > 0.03 || math.Abs(sd-1) > 0.06 || longest != 1 {
			t.Fatalf("%d cells: mean %.3f, sd %.3f, %d longest", n, mean, sd, longest)
		}
	})
}

// TestAverages: what the average of jobs stays below falls with their number to
// what all are off together, and never below the mean.
func TestAverages(t *testing.T) {
	t.Parallel()
	r, last := seenOf(99, 2), time.Duration(math.MaxInt64)
	for _, jobs := range []float64{1, 2, 10, 100, 10_000} {
		got := r.Average(jobs)
		if got >= last || got < r.Expected {
			t.Errorf("%.0f jobs: %v after %v", jobs, got, last)
		}
		last = got
	}
	if want := time.Duration(float64(time.Hour) * math.Exp(z90*r.together())); math.Abs(float64(last-want)) > 0.01*float64(want) {
		t.Errorf("10,000 jobs: %v, not %v", last, want)
	}
	if unseen := seenOf(0, 2); unseen.Average(1000) != 2*time.Hour {
		t.Errorf("what nobody has seen averages out: %v", unseen.Average(1000))
	}
	r.Ceiling = time.Hour
	if got := r.Average(1000); got > time.Hour {
		t.Errorf("past the walltime: %v", got)
	}
}

// TestTheLongestDecides: jobs that all run at once end when the longest does,
// and one after another their spread averages out.
func TestTheLongestDecides(t *testing.T) {
	t.Parallel()
	for _, cells := range []int{100, 2000} {
		p := phase("a", cells, 60)
		p.Groups[1].Runtime = seenOf(99, 2)
		wide := Make(Input{Phases: []Phase{p}})
		if got := wide.Walltime.P50; got < 2*time.Hour {
			t.Errorf("%d at once end after %v", cells, got)
		}
		narrow := Make(Input{Phases: []Phase{p}, Pools: []offer.Pool{machine(1)}})
		mean := time.Duration(cells) * time.Hour
		if w := narrow.Walltime; math.Abs(float64(w.P50-mean)) > 0.05*float64(mean) || float64(w.P90) > 1.4*float64(mean) || w.P90 <= w.P50 {
			t.Errorf("%d after one another: %v to %v, for %v of work", cells, w.P50, w.P90, mean)
		}
	}
}

// TestTheDay: what the day is off does not average out, over jobs or phases: of
// many phases the end is as far off as that of one. A launch that is over at
// once is off by what starting it is, and what never varied is not off at all.
func TestTheDay(t *testing.T) {
	t.Parallel()
	late := func(phases int) float64 {
		in := Input{Pools: []offer.Pool{machine(1)}}
		for k := range phases {
			p := phase(string(rune('a'+k)), 10, 60)
			p.Groups[1].Runtime = seenOf(99, 1.02)
			in.Phases = append(in.Phases, p)
		}
		w := Make(in).Walltime
		return float64(w.P90) / float64(w.P50)
	}
	if one, many := late(1), late(8); one < 1.1 || one > 1.2 || many < 0.97*one {
		t.Errorf("p90 of one phase is %.3f of its p50, that of eight %.3f", one, many)
	}
	short := seenOf(99, 1.02)
	short.Expected, short.Median, short.P90 = 50*time.Millisecond, 50*time.Millisecond, 51*time.Millisecond
	if got := short.Average(1000); got < 75*time.Millisecond || got > 95*time.Millisecond {
		t.Errorf("a thousand launches of 50 ms are late at %v each", got)
	}
	p := phase("a", 1, 1)
	p.Groups[1].Runtime = Runtime{Expected: time.Second, Median: time.Second, P90: time.Second, Seen: 9}
	if w := Make(Input{Phases: []Phase{p}, SubmitDelay: time.Second}).Walltime; w.P50 != 2*time.Second || w.P90 < 2900*time.Millisecond || w.P90 > 3100*time.Millisecond {
		t.Errorf("a second of work after a second of muster's own ends between %v and %v", w.P50, w.P90)
	}
	if same := seenOf(99, 1); same.Average(1000) != time.Hour {
		t.Errorf("what never varied is late at %v", same.Average(1000))
	}
}

// TestDelaysLeaveThePlace: a launch that failed leaves its place to others until
// it is launched again, one by one and where cells are many.
func TestDelaysLeaveThePlace(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{40, 2 * mostDrawn} {
		g := onMachine(time.Hour)
		g.Runtime, g.Failing, g.Launches, g.Delay = seenOf(50, 1.1), 0.25, 3, 20*time.Hour
		f := Make(Input{Phases: []Phase{{Name: "a", Of: slices.Repeat([]uint16{1}, jobs), Groups: []Group{{}, g}}}, Pools: []offer.Pool{machine(1)}})
		work := time.Duration(jobs) * time.Hour
		if end := f.Walltime.P50; end < work*5/4 || end > work*3/2+3*g.Delay {
			t.Errorf("%d jobs of an hour, of which a quarter fails, end after %s", jobs, end)
		}
	}
}

// TestManyLaunches: jobs that are drawn one by one are each as long as they are
// drawn, or as their group, also where all of their launches are more than there
// are numbers for.
func TestManyLaunches(t *testing.T) {
	t.Parallel()
	g := onMachine(time.Hour)
	g.Runtime, g.Launch = seenOf(50, 1.1), 10*time.Second
	of := slices.Repeat([]uint16{1}, mostDrawn)
	out, runs := deal{drawn: true}.divide("a", of, []Group{{}, g})
	if len(runs) > Never {
		t.Errorf("%d runs, and numbers for %d", len(runs), Never)
	}
	for i, at := range out {
		var work time.Duration
		for k := at; ; k = runs[k].next {
			if work += runs[k].dur; runs[k].group != 1 {
				t.Fatalf("cell %d is of group %d", i, runs[k].group)
			}
			if runs[k].next == 0 {
				break
			}
		}
		if work < 30*time.Minute {
			t.Errorf("cell %d takes %s", i, work)
		}
	}
}

// TestWaitsAreTimes: however far the waits of a queue differ, one that is drawn
// is a time, and no end in the past.
func TestWaitsAreTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wait   time.Duration
		spread float64
		off    float64
		want   time.Duration
	}{
		{time.Hour, 0, 3, time.Hour},
		{time.Hour, math.Ln2, 1, 2 * time.Hour},
		{time.Hour, math.Ln2, -1, 30 * time.Minute},
		{0, 2, 2, 0},
		{24 * time.Hour, 5, 4, longestWait},
		{2 * longestWait, 5, 4, 2 * longestWait},
	} {
		if got := Waits(c.wait, c.spread, c.off); (got - c.want).Abs() > time.Second {
			t.Errorf("%s, off by %v of %v: %s, not %s", c.wait, c.off, c.spread, got, c.want)
		}
	}
}
