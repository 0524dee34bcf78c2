package rehearse

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/planner/apply/progress"
)

// A Spread is how a figure came out over all rehearsals.
type Spread struct {
	Min, P10, P50, P90, Max float64
	Values                  []float64 // by rehearsal
}

// SpreadOf sums a figure up.
func SpreadOf(runs []Result, figure func(Result) float64) Spread {
	s := Spread{Values: make([]float64, len(runs))}
	for i, r := range runs {
		s.Values[i] = figure(r)
	}
	if len(runs) == 0 {
		return s
	}
	v := slices.Sorted(slices.Values(s.Values))
	s.Min, s.P10, s.P50, s.P90, s.Max = v[0], quantile(v, 0.1), quantile(v, 0.5), quantile(v, 0.9), v[len(v)-1]
	return s
}

// quantile interpolates between the two nearest of sorted values (Hyndman and
// Fan 1996, definition 7).
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	lo := int(at)
	hi := min(lo+1, len(v)-1)
	return v[lo] + (at-float64(lo))*(v[hi]-v[lo])
}

// Units are the units in which something was spent in any rehearsal.
func Units(runs []Result) []string {
	var out []string
	for _, u := range []string{"usd", "service_units", "gpu_hours", "cpu_hours", "node_hours"} {
		if slices.ContainsFunc(runs, func(r Result) bool { return Spent(u)(r) > 0 }) {
			out = append(out, u)
		}
	}
	return out
}

// Spent is the spending in a unit.
func Spent(unit string) func(Result) float64 {
	return func(r Result) float64 {
		f, _ := strconv.ParseFloat(r.Spent[unit], 64)
		return f
	}
}

// Histogram is the values as a row of columns from Min to Max, each an eighth
// to a whole character high; "" where all are equal.
func (s Spread) Histogram(width int) string {
	if s.Max <= s.Min || width < 1 {
		return ""
	}
	counts := make([]int, width)
	for _, v := range s.Values {
		counts[min(int((v-s.Min)/(s.Max-s.Min)*float64(width)), width-1)]++
	}
	most := slices.Max(counts)
	bars := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range counts {
		b.WriteRune(bars[int(math.Ceil(float64(n)/float64(most)*8))])
	}
	return b.String()
}

// An Ending is one way in which rehearsals ended before the work was done.
type Ending struct {
	Why      string
	Count    int // of rehearsals
	Min, Max int // jobs left, blocked ones included
	Breaker  bool
	Endless  bool
}

// Endings are the ways in which rehearsals stopped, most frequent first; among equals, causes
// come before their effects.
func Endings(runs []Result) []Ending {
	by, out := map[string]int{}, []Ending{} // into out
	for _, r := range runs {
		var ends []Ending
		switch {
		case r.Endless:
			ends = append(ends, Ending{Why: "it never ended: it waited for something that never comes", Endless: true})
		case r.Stopped == progress.Budget:
			ends = append(ends, Ending{Why: budgetOf(r.Why)})
		case r.Stopped != progress.None:
			ends = append(ends, Ending{Why: cmp.Or(r.Why, string(r.Stopped))})
		}
		for _, p := range r.Open {
			ends = append(ends, Ending{Why: "the breaker of phase." + p + " opened", Breaker: true})
		}
		for _, p := range r.Smoked {
			ends = append(ends, Ending{Why: "a smoke of phase." + p + " failed, and its phase was held"})
		}
		left := r.Left + r.Blocked
		if len(ends) == 0 {
			for _, why := range r.Kept {
				ends = append(ends, Ending{Why: why})
			}
		}
		if len(ends) == 0 && left > 0 {
			ends = append(ends, Ending{Why: "nothing started the remaining jobs"})
		}
		for _, e := range ends {
			k, seen := by[e.Why]
			if !seen {
				k, e.Min = len(out), math.MaxInt
				by[e.Why] = k
				out = append(out, e)
			}
			at := &out[k]
			at.Count++
			at.Min, at.Max = min(at.Min, left), max(at.Max, left)
		}
	}
	slices.SortStableFunc(out, func(a, b Ending) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// budgetOf is which budget or ceiling stopped a run, without the figures of
// the job that it stopped at.
func budgetOf(why string) string {
	if name, _, ok := strings.Cut(why, " does not cover "); ok {
		return name + " stopped it"
	}
	return cmp.Or(why, "a budget stopped it")
}
