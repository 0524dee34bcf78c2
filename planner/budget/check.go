// Package budget compares the possible cost of a plan with the campaign's
// budgets.
package budget

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A Check compares a budget with the plan.
type Check struct {
	Name     string
	Limits   state.Amounts
	Spent    state.Amounts
	Deadline time.Time
	Broken   []string // the broken limits, in words
	Warn     []string
	Left     int  // jobs that may be left when at most passes the limit
	Holds    bool // nothing starts, and an apply holds jobs in their queues for it
}

// A Case is a plan for budgets to check. The forecast's figures hold jobs in flight, at their
// ceilings.
type Case struct {
	Owner     lang.Owner // whose plan it is
	Forecast  *forecast.Forecast
	Ledger    []state.Entry
	Works     func() []Work            // the jobs that start, in plan order
	HowToKnow func(unit string) string // a change that would make an unknown cost known
	End       time.Time                // at the 90th percentile; zero when nothing runs
	Rests     bool                     // nothing starts: there is nothing that a budget could stop
	// Queued reports whether jobs that a budget counts wait in a queue that can
	// hold them, and take some of a unit; "" is any.
	Queued func(b lang.Budget, unit string) bool
	Now    time.Time
}

// Work is the part of one phase that starts.
type Work struct {
	Phase  string
	Smokes map[string]decimal.Decimal // ceiling of all, by unit
	Jobs   []Jobs
}

// Jobs are like jobs of a phase.
type Jobs struct {
	Backend string
	N       int
	Each    map[string]decimal.Decimal // ceiling of one, by unit
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// Check holds a budget against the case.
func (c Case) Check(b lang.Budget) Check {
	out := Check{Name: b.Name, Limits: maps.Clone(b.Limits), Spent: state.Amounts{}, Deadline: b.Deadline}
	lines := c.Forecast.ByScope[b.Name]
	for _, unit := range slices.Sorted(maps.Keys(b.Limits)) {
		spent, unknown, unpriced := Spent(c.Ledger, b, unit)
		spent = spent.Add(elsewhere(b, c.Owner, unit))
		out.Spent[unit] = spent.String()
		if unknown > 0 {
			out.Warn = append(out.Warn, fmt.Sprintf("%s in the ledger without known %s, counted at the ceiling", attempts(unknown), amount.Unit(unit)))
		}
		if unpriced > 0 {
			out.Warn = append(out.Warn, fmt.Sprintf("%s in the ledger ran where no price in %s was known, counted as none", attempts(unpriced), amount.Unit(unit)))
		}
		c.checkUnit(&out, b, unit, spent, forecast.LineOf(lines, unit))
	}
	if !b.Deadline.IsZero() && c.End.After(b.Deadline) {
		c.fails(&out, fmt.Sprintf("the p90 end is %s, after the deadline %s", units.FormatTime(c.End.UTC()), units.FormatTime(b.Deadline.UTC())))
	}
	out.Holds = out.Holds || !b.Deadline.IsZero() && c.Now.After(b.Deadline) && c.holds(b, "")
	return out
}

// holds reports whether an apply holds queued jobs when this limit is passed.
func (c Case) holds(b lang.Budget, unit string) bool {
	return c.Rests && c.Queued != nil && c.Queued(b, unit)
}

// fails says that a budget does not hold. A plan that starts nothing gets a warning and goes
// on: it watches running jobs and gives machines back.
func (c Case) fails(out *Check, text string) {
	if c.Rests {
		out.Warn = append(out.Warn, text)
		return
	}
	out.Broken = append(out.Broken, text)
}

func (c Case) checkUnit(out *Check, b lang.Budget, unit string, spent decimal.Decimal, l forecast.CostLine) {
	limit := amount.Of(b.Limits[unit])
	q := func(d decimal.Decimal) string { return amount.Words(unit, d.String()) }
	if l.P90.Mark == forecast.Unknown {
		c.fails(out, fmt.Sprintf("the cost of this plan in %s is unknown, so the limit of %s cannot be held; %s", amount.Unit(unit), q(limit), c.HowToKnow(unit)))
		return
	}
	p90, most := spent.Add(amount.Of(l.P90.Text)), spent.Add(amount.Of(l.AtMost.Text))
	out.Holds = out.Holds || amount.Exceeds(most, limit) && c.holds(b, unit)
	switch {
	case amount.Exceeds(p90, limit):
		is, most := amount.Apart(unit, p90, limit)
		c.fails(out, fmt.Sprintf("p90 is %s%s, above the limit of %s", is, ofSpent(unit, spent), most))
	case amount.Exceeds(most, limit):
		left := c.leftOver(b, unit, limit.Sub(spent))
		out.Left = max(out.Left, left)
		if b.Strict {
			is, of := amount.Apart(unit, most, limit)
			c.fails(out, fmt.Sprintf("at most is %s%s, above the limit of %s, and the budget is strict. %s", is, ofSpent(unit, spent), of, amount.Set(unit, most)))
		} else {
			out.Warn = append(out.Warn, runsOut(left)+". "+amount.Set(unit, most))
		}
	}
	if warn := limit.Mul(decimal.NewFromFloat(b.WarnAt)); b.WarnAt > 0 && amount.Exceeds(p90, warn) && !amount.Exceeds(p90, limit) {
		out.Warn = append(out.Warn, fmt.Sprintf("p90 is %s%s, above %s%% of the limit of %s", q(p90), ofSpent(unit, spent), decimal.NewFromFloat(b.WarnAt*100).Round(1), q(limit)))
	}
}

// runsOut says which jobs do not start when every job takes its ceiling.
func runsOut(left int) string {
	switch left {
	case 0:
		return "in the worst case the budget runs out, and queued jobs are held"
	case 1:
		return "in the worst case the budget runs out with one job left"
	}
	return fmt.Sprintf("in the worst case the budget runs out with %d jobs left", left)
}

func ofSpent(unit string, spent decimal.Decimal) string {
	if spent.IsZero() {
		return ""
	}
	return fmt.Sprintf(" with %s spent already", amount.Words(unit, spent.String()))
}

// elsewhere is the part of a shared budget that other campaigns spent or may
// still spend.
func elsewhere(b lang.Budget, me lang.Owner, unit string) decimal.Decimal {
	var sum amount.Tally
	for _, other := range b.Others(me) {
		if text := other[unit]; text != "" {
			sum.Add(text)
		}
	}
	return sum.Total()
}

// Spent sums a unit over the ledger entries a budget counts. An entry whose
// bill is not known counts at its ceiling, which is part of it; unpriced are those
// that say nothing of this unit, since their place stated no price in it.
func Spent(ledger []state.Entry, b lang.Budget, unit string) (total decimal.Decimal, unknown, unpriced int) {
	var sum amount.Tally
	for i := range ledger {
		e := &ledger[i]
		if !b.Counts(e.Phase, e.Backend) {
			continue
		}
		if e.Unknown {
			unknown++
		}
		if slices.Contains(e.Unpriced, unit) {
			unpriced++
		}
		if text := e.Spent.Get(unit); text != "" {
			sum.Add(text)
		}
	}
	return sum.Total(), unknown, unpriced
}

// sliver is the part of a job by which room may be off, as thirds have no end.
var sliver = decimal.New(1, -9)

// leftOver is how many jobs may not start before a budget is used up, if each
// costs its ceiling: counted by groups of like jobs, in plan order.
func (c Case) leftOver(b lang.Budget, unit string, room decimal.Decimal) int {
	left := 0
	for _, w := range c.Works() {
		room = room.Sub(w.Smokes[unit])
		for _, j := range w.Jobs {
			each := amount.Counted(j.Each[unit])
			if j.N == 0 || each.IsZero() || !b.Counts(w.Phase, j.Backend) {
				continue
			}
			fit := 0
			if room.IsPositive() {
				fit = int(min(room.Div(each).Add(sliver).IntPart(), int64(j.N)))
			}
			room = room.Sub(each.Mul(decimal.NewFromInt(int64(fit))))
			left += j.N - fit
		}
	}
	return left
}
