package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/state"
)

// BudgetBroken reports whether a budget or its deadline does not hold: exit 4.
func (p *Plan) BudgetBroken() bool {
	return slices.ContainsFunc(p.Budgets, func(b BudgetCheck) bool { return len(b.Broken) > 0 })
}

// budgets checks every budget against the forecast, and sets the ceiling that
// an approval grants: the smaller of at most and what the budgets leave. The
// forecast's figures hold what is in flight, at its ceiling.
func (m *maker) budgets() {
	m.plan.Ceiling = state.Amounts{}
	for _, l := range m.plan.Forecast.Lines {
		if l.AtMost.Mark != forecast.Unknown {
			m.plan.Ceiling[l.Unit] = l.AtMost.Text
		}
	}
	for _, b := range m.in.Campaign.Budgets {
		m.plan.Budgets = append(m.plan.Budgets, m.checkBudget(b))
	}
	m.asks()
}

func (m *maker) checkBudget(b lang.Budget) BudgetCheck {
	c := BudgetCheck{Name: b.Name, Limits: maps.Clone(b.Limits), Spent: state.Amounts{}, Deadline: b.Deadline}
	lines := m.plan.Forecast.ByScope[b.Name]
	for _, unit := range slices.Sorted(maps.Keys(b.Limits)) {
		limit := amount.Of(b.Limits[unit])
		spent, unknown := m.spent(b, unit)
		c.Spent[unit] = spent.String()
		if unknown > 0 {
			c.Warn = append(c.Warn, fmt.Sprintf("%d entries of the ledger have no known %s and count at their ceiling", unknown, amount.Unit(unit)))
		}
		m.checkUnit(&c, b, unit, limit, spent, forecast.LineOf(lines, unit))
		m.lowerCeiling(b, unit, limit.Sub(spent))
	}
	m.checkDeadline(&c, b)
	for _, text := range c.Broken {
		m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("budget %q does not hold", b.Name), Detail: text + ".", Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name)})
	}
	return c
}

func (m *maker) checkUnit(c *BudgetCheck, b lang.Budget, unit string, limit, spent decimal.Decimal, l forecast.Line) {
	q := func(d decimal.Decimal) string { return amount.Words(unit, d.String()) }
	if l.P90.Mark == forecast.Unknown {
		c.Broken = append(c.Broken, fmt.Sprintf("what this plan costs in %s is not known, so the limit of %s cannot be held; %s", amount.Unit(unit), q(limit), m.howToKnow(unit)))
		return
	}
	p90, most := spent.Add(amount.Of(l.P90.Text)), spent.Add(amount.Of(l.AtMost.Text))
	switch {
	case p90.GreaterThan(limit):
		c.Broken = append(c.Broken, fmt.Sprintf("p90 comes to %s%s, above the limit of %s", q(p90), ofSpent(unit, spent), q(limit)))
	case most.GreaterThan(limit):
		left := m.leftOver(b, unit, limit.Sub(spent))
		c.Left = max(c.Left, left)
		text := fmt.Sprintf("stops at %s: up to %s may be left", q(limit), amount.Jobs(left))
		if b.Strict {
			c.Broken = append(c.Broken, fmt.Sprintf("at most comes to %s, above the limit of %s, and the budget is strict", q(most), q(limit)))
		} else {
			c.Warn = append(c.Warn, text)
		}
	}
	if warn := limit.Mul(decimal.NewFromFloat(b.WarnAt)); b.WarnAt > 0 && p90.GreaterThan(warn) && !p90.GreaterThan(limit) {
		c.Warn = append(c.Warn, fmt.Sprintf("p90 comes to %s, above %s%% of the limit of %s", q(p90), decimal.NewFromFloat(b.WarnAt*100).Round(1), q(limit)))
	}
}

func ofSpent(unit string, spent decimal.Decimal) string {
	if spent.IsZero() {
		return ""
	}
	return fmt.Sprintf(" with %s spent already", amount.Words(unit, spent.String()))
}

func (m *maker) checkDeadline(c *BudgetCheck, b lang.Budget) {
	if b.Deadline.IsZero() || !m.anythingRuns() {
		return
	}
	end := m.in.Now.Add(m.plan.Forecast.Walltime.P90)
	if end.After(b.Deadline) {
		c.Broken = append(c.Broken, fmt.Sprintf("the p90 end is %s, after the deadline %s", end.UTC().Format(minute), b.Deadline.UTC().Format(minute)))
	}
}

const minute = "2006-01-02 15:04Z"

// anythingRuns reports whether anything runs, so that a finished campaign breaks no
// deadline.
func (m *maker) anythingRuns() bool {
	for _, w := range m.works {
		for _, k := range w.pp.Kind {
			if k.Starts() || k == Continue {
				return true
			}
		}
	}
	return false
}

// spent sums a unit over the ledger entries a budget counts. An entry whose
// bill is not known counts at its ceiling, which stands in it.
func (m *maker) spent(b lang.Budget, unit string) (total decimal.Decimal, unknown int) {
	var sum amount.Tally
	for i := range m.st.Ledger {
		e := &m.st.Ledger[i]
		if !b.Counts(e.Phase, e.Backend) {
			continue
		}
		if e.Unknown {
			unknown++
		}
		if text, ok := e.Spent[unit]; ok {
			sum.Add(text)
		}
	}
	return sum.Total(), unknown
}

// leftOver is how many jobs may not start before a budget is used up, if each
// costs its ceiling: counted by groups of like jobs, in plan order.
func (m *maker) leftOver(b lang.Budget, unit string, room decimal.Decimal) int {
	left := 0
	take := func(w *work, backend string, each decimal.Decimal, n int) {
		if n == 0 || each.IsZero() || !b.Counts(w.p.Name, backend) {
			return
		}
		fit := 0
		if room.IsPositive() {
			fit = int(min(room.Div(each).IntPart(), int64(n)))
		}
		room = room.Sub(each.Mul(decimal.NewFromInt(int64(fit))))
		left += n - fit
	}
	for _, w := range m.works {
		if g := w.pp.Smoke; g != nil && len(g.Run) > 0 {
			c, _ := launches.Ceiling(g.Place, lang.Retry{}, m.in.Pools)
			room = room.Sub(c[unit].Mul(decimal.NewFromInt(int64(len(g.Run)))))
		}
		for at, n := range w.groupJobs() {
			if at > 0 {
				d := w.pp.Placements[at]
				c, _ := launches.Ceiling(d, w.p.Retry, m.in.Pools)
				take(w, d.Backend, c[unit], n)
			}
		}
	}
	return left
}

// lowerCeiling lowers the plan's ceiling to what a budget over everything
// leaves. A budget on a part binds that part at each submission.
func (m *maker) lowerCeiling(b lang.Budget, unit string, room decimal.Decimal) {
	if len(b.AppliesTo) > 0 {
		return
	}
	room = decimal.Max(room, decimal.Zero)
	if old, ok := m.plan.Ceiling[unit]; !ok || amount.Of(old).GreaterThan(room) {
		m.plan.Ceiling[unit] = room.String()
	}
}

// asks names why a flag alone does not approve the plan.
func (m *maker) asks() {
	policy := m.in.Campaign.Policy
	for _, unit := range slices.Sorted(maps.Keys(policy.ApproveAbove)) {
		limit := policy.ApproveAbove[unit]
		most, ok := m.plan.Ceiling[unit]
		l := forecast.LineOf(m.plan.Forecast.Lines, unit)
		if ok && amount.Of(most).GreaterThan(amount.Of(limit)) || l.AtMost.Mark == forecast.Unknown && l.Unit != "" {
			m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("it may cost up to %s, and policy approve_above is %s: save it with -out and apply the file", amount.Words(unit, orElse(most, "?")), amount.Words(unit, limit)))
		}
	}
}
