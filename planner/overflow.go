package planner

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A spiller moves jobs of phases to their overflow.
type spiller struct {
	placer
	phases
	on     bool          // else it says only that it could
	ledger []state.Entry // nil until asked for
}

// overflow moves so many jobs of a phase to its overflow as end it soonest and
// the budgets leave: the smallest number that does.
func (sl *spiller) overflow(w *draft, jobs []int) (spills []spillover) {
	if len(w.p.Overflow) == 0 {
		return nil
	}
	for r, n := range jobs {
		first := w.pp.Placements[r+1]
		if n == 0 || first.Backend == "" || len(first.Beside) > 0 || len(w.pp.Placements) >= mostRequests {
			continue
		}
		second, not := sl.second(w, r, n)
		s := noOverflow(w.p.Name, not)
		if not == "" {
			s = sl.spill(w, r, n, first, second)
		}
		spills = append(spills, s)
	}
	return spills
}

// second is where the overflow of a request goes, or why it goes nowhere.
func (sl *spiller) second(w *draft, r, n int) (place.Decision, string) {
	g := w.expecting(w.reqs[r], n)
	g.Candidates, g.Prefer = w.p.Overflow, orElse(w.p.Prefer, "order")
	found, diags := place.Decide(sl.input([]place.Group{g}))
	if d := found[0]; d.Backend != "" {
		return d, ""
	}
	why := orElse(found[0].Away, "it fits nowhere else")
	for _, d := range diags {
		why = diag.Lower(d.Summary) + ": " + strings.Join(strings.Fields(d.Detail), " ")
	}
	return place.Decision{}, why
}

// spill decides how many jobs of a request overflow, and moves the last that
// start.
func (sl *spiller) spill(w *draft, r, n int, first, second place.Decision) spillover {
	cells := spillable(w, r)
	s := overflowCase{
		Phase: w.p.Name, First: first, Second: second, Jobs: n, InFlight: inFlightAt(w, first), Free: len(cells), At: sl.queueOf(w, first), There: sl.queueOf(w, second),
		MaxParallel: w.p.MaxParallel, Smoke: w.p.Smoke != nil,
		Afford: func(n int) (int, string) {
			return affordable(sl.in.Campaign.Budgets, w.p, second, sl.in.Pools, n, sl.claimed)
		},
	}.Decide()
	if !sl.on {
		return s.Spared("every deadline holds without it")
	}
	if s.N > 0 {
		moveTo(w, cells[len(cells)-s.N:], first, second)
	}
	return s
}

// inFlightAt counts the jobs of a phase that are in flight at a place.
func inFlightAt(w *draft, d place.Decision) (n int) {
	for i, k := range w.pp.Kind {
		if k == Continue || k == UnknownAt || k == Adopt {
			if at := w.record(i).Last(); at != nil && at.Backend == d.Backend && at.Pool == d.Pool {
				n++
			}
		}
	}
	return n
}

// moveTo gives cells their place in the overflow. Their approval holds the first choice, too.
func moveTo(w *draft, cells []int, first, second place.Decision) {
	second.Why, second.After = "overflow: it would wait on "+first.Where(), first.After
	for _, c := range first.Candidates {
		if !slices.ContainsFunc(second.Candidates, func(o place.Candidate) bool { return o.Backend == c.Backend && o.Pool == c.Pool }) {
			if c.Won {
				c.Won, c.Why = false, "is full; the overflow takes the jobs that would wait"
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
func spillable(w *draft, r int) (cells []int) {
	for i, k := range w.pp.Kind {
		if (k.Starts() || k == Blocked) && int(w.pp.Place[i]) == r+1 && !slices.Contains(w.p.Pilot, i) &&
			(w.p.Smoke == nil || !slices.Contains(w.p.Smoke.Cells, i)) {
			cells = append(cells, i)
		}
	}
	return cells
}

// queueOf is the queue on a place: as many at once as it and the caps allow.
func (sl *spiller) queueOf(w *draft, d place.Decision) placeQueue {
	n, bounded := forecast.Bound(ceiling.Pool(sl.in.Pools, d.Backend, d.Pool), d)
	if !bounded {
		n = math.MaxInt32
	}
	for _, b := range sl.in.Campaign.Backends {
		if b.Address() == d.Backend && b.MaxParallel > 0 {
			n = min(n, int64(b.MaxParallel))
		}
	}
	for _, limit := range []int{w.p.MaxParallel, sl.in.Campaign.MaxParallel} {
		if limit > 0 {
			n = min(n, int64(limit))
		}
	}
	each := w.past.measurements().OnPool(d).Expected
	if each <= 0 {
		each = time.Hour // nobody knows: any time will do that is the same for all
	}
	return placeQueue{Slots: n, Each: each, Wait: max(d.Wait, 0) + d.Boot}
}

// claimed is the part of a budget that is spent, in flight at its ceiling, or
// wanted by the phases before, at one launch each.
func (sl *spiller) claimed(b lang.Budget, unit string) decimal.Decimal {
	if sl.ledger == nil {
		sl.ledger = ledger(sl.facts, sl.phases)
	}
	sum, _, _ := budget.Spent(sl.ledger, b, unit)
	for _, j := range sl.st.InFlight() {
		if at := j.Last(); at != nil && b.Counts(j.Phase, at.Backend) {
			sum = sum.Add(amount.Of(at.Ceiling[unit]))
		}
	}
	for _, w := range sl.drafts {
		for at, n := range w.groupJobs() {
			if d := w.pp.Placements[at]; at > 0 && d.Backend != "" && b.Counts(w.p.Name, d.Backend) {
				cost, _ := place.AtMost(d.Shape, d.Price, d.Around(), d.Hold)
				sum = sum.Add(cost[unit].Mul(decimal.NewFromInt(int64(n))))
			}
		}
	}
	return sum
}
