package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
)

// A spill is what became of the jobs of one request that may overflow.
type spill struct {
	phase    string
	from, to string
	jobs, of int
	end      time.Duration // as spilled, from the first start
	alone    time.Duration // had none overflowed
	all      time.Duration // had all of them
	cost     string        // of the spilled at most, in words
	first    string        // of all without overflow
	whole    string        // of all of them there
	bound    string        // what kept more from it, "" when more would end no sooner
	not      string        // why none did
	tried    string        // the backend of the phase's smoke, "" without one
}

// overflow moves so many jobs of a phase to its overflow as end it soonest and
// the budgets leave: the smallest number that does.
func (m *maker) overflow(w *work, jobs []int) {
	if len(w.p.Overflow) == 0 || !m.overflows {
		return
	}
	for r, n := range jobs {
		first := w.pp.Placements[r+1]
		if n == 0 || first.Backend == "" || len(first.Beside) > 0 || len(w.pp.Placements) >= mostRequests {
			continue
		}
		s := spill{phase: w.p.Name, from: goesTo(first), of: n}
		if w.p.Smoke != nil {
			s.tried = first.Backend
		}
		var second place.Decision
		if second, s.not = m.second(w, r, n); s.not == "" {
			s.to = goesTo(second)
			m.spillOver(w, r, first, second, &s)
		}
		m.spills = append(m.spills, s)
	}
}

func goesTo(d place.Decision) string { return strings.TrimSuffix(d.Backend+" "+d.Pool, " ") }

// second is where the overflow of a request goes, or why it goes nowhere.
func (m *maker) second(w *work, r, n int) (place.Decision, string) {
	g := m.placeGroup(w, w.reqs[r], n)
	g.Candidates, g.Prefer = w.p.Overflow, orElse(w.p.Prefer, "order")
	g.Expected = m.evidence(w).Runtime(g.Shape.Walltime).Expected
	found, diags := place.Decide(m.placeInput([]place.Group{g}))
	if d := found[0]; d.Backend != "" {
		return d, ""
	}
	why := orElse(found[0].Away, "it fits nowhere else")
	for _, d := range diags {
		why = d.Summary + ": " + strings.Join(strings.Fields(d.Detail), " ")
	}
	return place.Decision{}, why
}

// spillOver decides how many jobs of a request overflow, and which: the last
// that start.
func (m *maker) spillOver(w *work, r int, first, second place.Decision, s *spill) {
	flying := 0
	for i, k := range w.pp.Kind {
		if k == Continue || k == UnknownAt || k == Adopt {
			if at := w.record(i).Last(); at != nil && at.Backend == first.Backend && at.Pool == first.Pool {
				flying++
			}
		}
	}
	a, b := m.queueOf(w, first), m.queueOf(w, second)
	if limit := w.p.MaxParallel; limit > 0 {
		if b.slots = min(b.slots, int64(limit)-a.slots); b.slots <= 0 {
			s.not = fmt.Sprintf("max_parallel = %d is reached without it", limit)
			return
		}
	}
	free := len(w.spillable(r))
	if free == 0 {
		s.not = "every job of it is tried on " + goesTo(first) + " before the others start"
		return
	}
	most, bound := m.affordable(w, second, free)
	s.alone = a.end(s.of + flying)
	s.end = s.alone
	best := 0
	for k := 1; k <= most; k++ {
		if end := max(a.end(s.of-k+flying), b.end(k)); end < s.end {
			best, s.end = k, end
		}
	}
	if s.jobs = best; best == 0 {
		s.not = orElse(bound, "it would end no sooner")
		return
	}
	if best == most && most < s.of {
		s.bound = bound
	}
	s.all = b.end(s.of)
	s.cost, s.first, s.whole = inAll(second, best), inAll(first, s.of), inAll(second, s.of)
	m.moveLast(w, r, best, first, second)
}

// inAll is what so many launches may be charged on a place, in words.
func inAll(d place.Decision, jobs int) string {
	cost, known := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
	if !known {
		return "a price that is not known"
	}
	var parts []string
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		if c := cost[unit]; !c.IsZero() {
			parts = append(parts, amount.Words(unit, c.Mul(decimal.NewFromInt(int64(jobs))).String()))
		}
	}
	if len(parts) == 0 {
		return "$0"
	}
	return strings.Join(parts, " and ")
}

// moveLast gives the last cells of a request that start their place in the
// overflow. What is approved for them holds the first choice, too.
func (m *maker) moveLast(w *work, r, n int, first, second place.Decision) {
	second.Why = "overflow: it would wait on " + goesTo(first)
	for _, c := range first.Candidates {
		if !slices.ContainsFunc(second.Candidates, func(o place.Candidate) bool { return o.Backend == c.Backend && o.Pool == c.Pool }) {
			if c.Won {
				c.Won, c.Why = false, "is full; the overflow takes what would wait"
			}
			second.Candidates = append(second.Candidates, c)
		}
	}
	at := uint16(len(w.pp.Placements))
	w.pp.Placements = append(w.pp.Placements, second)
	cells := w.spillable(r)
	for _, i := range cells[len(cells)-n:] {
		w.pp.Place[i] = at
	}
}

// spillable are the cells of a request that start and may overflow: all but
// those that a smoke or a pilot tries where the phase goes first.
func (w *work) spillable(r int) (cells []int) {
	for i, k := range w.pp.Kind {
		if (k.Starts() || k == Blocked) && w.p.RequestOf(i, lang.Run) == r && !slices.Contains(w.p.Pilot, i) &&
			(w.p.Smoke == nil || !slices.Contains(w.p.Smoke.Cells, i)) {
			cells = append(cells, i)
		}
	}
	return cells
}

// A queue is how many jobs of a request run at once on a place, how long each
// takes and how long the first waits.
type queue struct {
	slots      int64
	each, wait time.Duration
}

// queueOf is the queue on a place: as many at once as it and the caps allow.
func (m *maker) queueOf(w *work, d place.Decision) queue {
	n, bounded := forecast.Bound(launches.Pool(m.in.Pools, d.Backend, d.Pool), d)
	if !bounded {
		n = math.MaxInt32
	}
	for _, b := range m.in.Campaign.Backends {
		if b.Address() == d.Backend && b.MaxParallel > 0 {
			n = min(n, int64(b.MaxParallel))
		}
	}
	for _, limit := range []int{w.p.MaxParallel, m.in.Campaign.MaxParallel} {
		if limit > 0 {
			n = min(n, int64(limit))
		}
	}
	each := m.evidence(w).OnPool(d).Expected
	if each <= 0 {
		each = time.Hour // nobody knows: any time will do that is the same for all
	}
	return queue{slots: n, each: each, wait: max(d.Wait, 0) + d.Boot}
}

// end is when so many jobs are through.
func (q queue) end(jobs int) time.Duration {
	if jobs <= 0 {
		return 0
	}
	rounds := (int64(jobs) + q.slots - 1) / q.slots
	return q.wait + time.Duration(rounds)*q.each
}

// affordable is how many of n jobs the budgets leave room for on a place, each
// at the ceiling of one launch (of all of them where a budget is strict), and
// which budget ends it.
func (m *maker) affordable(w *work, d place.Decision, n int) (most int, bound string) {
	most = n
	for _, b := range m.in.Campaign.Budgets {
		if !b.Counts(w.p.Name, d.Backend) {
			continue
		}
		each, known := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
		if b.Strict {
			each, known = launches.Ceiling(d, w.p.Retry, m.in.Pools)
		}
		for unit, text := range b.Limits {
			if unit == place.USD && !known {
				return 0, fmt.Sprintf("what it costs is not known, and budget %q limits money", b.Name)
			}
			if !each[unit].IsPositive() || unit != place.USD && unit != place.ServiceUnits {
				continue
			}
			room := amount.Of(text).Sub(m.claimed(b, unit))
			fits := int(max(min(room.Div(each[unit]).IntPart(), int64(n)), 0))
			if fits < most {
				most, bound = fits, fmt.Sprintf("budget %q (%s) covers no more at %s each", b.Name, amount.Words(unit, text), amount.Words(unit, each[unit].String()))
			}
		}
	}
	return most, bound
}

// claimed is what of a budget is spent, in flight at its ceiling, or wanted by
// the phases before, at one launch each.
func (m *maker) claimed(b lang.Budget, unit string) decimal.Decimal {
	sum, _ := budget.Spent(m.st.Ledger, b, unit)
	for _, j := range m.st.InFlight() {
		if at := j.Last(); at != nil && b.Counts(j.Phase, at.Backend) {
			sum = sum.Add(amount.Of(at.Ceiling[unit]))
		}
	}
	for _, w := range m.works {
		for at, n := range w.groupJobs() {
			if d := w.pp.Placements[at]; at > 0 && d.Backend != "" && b.Counts(w.p.Name, d.Backend) {
				cost, _ := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
				sum = sum.Add(cost[unit].Mul(decimal.NewFromInt(int64(n))))
			}
		}
	}
	return sum
}

// noteSpills says what overflowed and what ended it.
func (m *maker) noteSpills() {
	for _, s := range m.spills {
		if s.jobs == 0 {
			m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("phase.%s does not overflow: %s.", s.phase, strings.TrimSuffix(s.not, ".")))
			continue
		}
		text := fmt.Sprintf("phase.%s: %d of %s overflow to %s, for at most %s: about %s", s.phase, s.jobs, amount.Jobs(s.of), s.to, s.cost, units.ShortDuration(s.end))
		if s.bound != "" {
			text += "; " + s.bound
		}
		if s.tried != "" {
			text += fmt.Sprintf("; none of them starts before its smoke has passed on %s, and none is tried on %s", s.tried, s.to)
		}
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("%s. Cheapest: all on %s, at most %s, about %s. Fastest: all on %s, at most %s, about %s.",
			text, s.from, s.first, units.ShortDuration(s.alone), s.to, s.whole, units.ShortDuration(s.all)))
	}
}
