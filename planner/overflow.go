package planner

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/overflow"
	"github.com/muster-run/muster/planner/place"
)

// overflow moves so many jobs of a phase to its overflow as end it soonest and
// the budgets leave: the smallest number that does.
func (m *maker) overflow(w *work, jobs []int) {
	if len(w.p.Overflow) == 0 {
		return
	}
	for r, n := range jobs {
		first := w.pp.Placements[r+1]
		if n == 0 || first.Backend == "" || len(first.Beside) > 0 || len(w.pp.Placements) >= mostRequests {
			continue
		}
		second, not := m.second(w, r, n)
		s := overflow.Nowhere(w.p.Name, not)
		if not == "" {
			s = m.spill(w, r, first, second)
		}
		m.spills = append(m.spills, s)
	}
}

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

// spill decides how many jobs of a request overflow, and moves the last that
// start.
func (m *maker) spill(w *work, r int, first, second place.Decision) overflow.Spill {
	cells := w.spillable(r)
	s := overflow.Case{
		Phase: w.p.Name, First: first, Second: second, Jobs: w.jobs[r], Flying: w.flying(first), Free: len(cells), At: m.queueOf(w, first), There: m.queueOf(w, second),
		MaxParallel: w.p.MaxParallel, Smoke: w.p.Smoke != nil,
		Afford: func(n int) (int, string) {
			return overflow.Afford(m.in.Campaign.Budgets, w.p, second, m.in.Pools, n, m.claimed)
		},
	}.Decide()
	if !m.overflows {
		return s.Spared("every deadline holds without it")
	}
	if s.N > 0 {
		w.moveTo(cells[len(cells)-s.N:], first, second)
	}
	return s
}

// flying counts the jobs of a phase that are in flight at a place.
func (w *work) flying(d place.Decision) (n int) {
	for i, k := range w.pp.Kind {
		if k == Continue || k == UnknownAt || k == Adopt {
			if at := w.record(i).Last(); at != nil && at.Backend == d.Backend && at.Pool == d.Pool {
				n++
			}
		}
	}
	return n
}

// moveTo gives cells their place in the overflow. What is approved for them
// holds the first choice, too.
func (w *work) moveTo(cells []int, first, second place.Decision) {
	second.Why = "overflow: it would wait on " + first.Where()
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
	for _, i := range cells {
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

// queueOf is the queue on a place: as many at once as it and the caps allow.
func (m *maker) queueOf(w *work, d place.Decision) overflow.Queue {
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
	return overflow.Queue{Slots: n, Each: each, Wait: max(d.Wait, 0) + d.Boot}
}

// claimed is what of a budget is spent, in flight at its ceiling, or wanted by
// the phases before, at one launch each.
func (m *maker) claimed(b lang.Budget, unit string) decimal.Decimal {
	sum, _, _ := budget.Spent(m.ledger(), b, unit)
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
