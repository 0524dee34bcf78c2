package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
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
		limit := amount(b.Limits[unit])
		spent, unknown := m.spent(b, unit)
		c.Spent[unit] = spent.String()
		if unknown > 0 {
			c.Warn = append(c.Warn, fmt.Sprintf("%d entries of the ledger have no known %s and count at their ceiling", unknown, unit))
		}
		m.checkUnit(&c, b, unit, limit, spent, lineFor(lines, unit))
		m.lowerCeiling(b, unit, limit.Sub(spent))
	}
	m.checkDeadline(&c, b)
	for _, text := range c.Broken {
		m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("budget %q does not hold", b.Name), Detail: text + ".", Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name)})
	}
	return c
}

func (m *maker) checkUnit(c *BudgetCheck, b lang.Budget, unit string, limit, spent decimal.Decimal, l forecast.Line) {
	q := func(d decimal.Decimal) string { return quantity(unit, d.String()) }
	if l.P90.Mark == forecast.Unknown {
		c.Broken = append(c.Broken, fmt.Sprintf("what this plan costs in %s is not known, so the limit of %s cannot be held; %s", unit, q(limit), m.plan.howToKnow()))
		return
	}
	p90, most := spent.Add(amount(l.P90.Text)), spent.Add(amount(l.AtMost.Text))
	switch {
	case p90.GreaterThan(limit):
		c.Broken = append(c.Broken, fmt.Sprintf("p90 comes to %s%s, above the limit of %s", q(p90), ofSpent(unit, spent), q(limit)))
	case most.GreaterThan(limit):
		left := m.leftOver(b, unit, limit.Sub(spent))
		c.Left = max(c.Left, left)
		text := fmt.Sprintf("stops at %s: up to %s may be left", q(limit), jobCount(left))
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
	return fmt.Sprintf(" with %s spent already", quantity(unit, spent.String()))
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
	for _, e := range m.st.Ledger {
		if !applies(b, e.Phase, e.Backend) {
			continue
		}
		if e.Unknown {
			unknown++
		}
		total = total.Add(amount(e.Spent[unit]))
	}
	return total, unknown
}

// applies reports whether a job of a phase on a backend counts in a budget.
func applies(b lang.Budget, phase, backend string) bool {
	if len(b.AppliesTo) == 0 {
		return true
	}
	return slices.Contains(b.AppliesTo, "phase."+phase) || slices.Contains(b.AppliesTo, "backend."+backend)
}

// leftOver is how many jobs may not start before a budget is used up, if each
// costs its ceiling: counted by groups of like jobs, in plan order.
func (m *maker) leftOver(b lang.Budget, unit string, room decimal.Decimal) int {
	left := 0
	take := func(w *work, backend string, each decimal.Decimal, n int) {
		if n == 0 || each.IsZero() || !applies(b, w.p.Name, backend) {
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
			c, _ := ceiling(g.Place, lang.Retry{}, m.in.Pools)
			room = room.Sub(c[unit].Mul(decimal.NewFromInt(int64(len(g.Run)))))
		}
		for at, n := range w.groupJobs() {
			if at > 0 {
				d := w.pp.Placements[at]
				c, _ := ceiling(d, w.p.Retry, m.in.Pools)
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
	if old, ok := m.plan.Ceiling[unit]; !ok || amount(old).GreaterThan(room) {
		m.plan.Ceiling[unit] = room.String()
	}
}

// asks names why a flag alone does not approve the plan.
func (m *maker) asks() {
	policy := m.in.Campaign.Policy
	for _, unit := range slices.Sorted(maps.Keys(policy.ApproveAbove)) {
		limit := policy.ApproveAbove[unit]
		most, ok := m.plan.Ceiling[unit]
		l := lineFor(m.plan.Forecast.Lines, unit)
		if ok && amount(most).GreaterThan(amount(limit)) || l.AtMost.Mark == forecast.Unknown && l.Unit != "" {
			m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("it may cost up to %s, and policy approve_above is %s: save it with -out and apply the file", quantity(unit, orElse(most, "?")), quantity(unit, limit)))
		}
	}
}

func lineFor(lines []forecast.Line, unit string) forecast.Line {
	for _, l := range lines {
		if l.Unit == unit {
			return l
		}
	}
	return forecast.Line{}
}

// amount reads decimal text; nothing counts as zero.
func amount(s string) decimal.Decimal {
	d, err := decimal.NewFromString(strings.TrimSpace(s))
	if err != nil {
		return decimal.Zero
	}
	return d
}

func jobCount(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}

// quantity is an amount as people write it: $40, 60 GPU-hours.
func quantity(unit, text string) string {
	switch unit {
	case "usd":
		return "$" + amount(text).Round(2).String()
	case "gpu_hours":
		return amount(text).Round(1).String() + " GPU-hours"
	case "cpu_hours":
		return amount(text).Round(1).String() + " CPU-hours"
	case "node_hours":
		return amount(text).Round(1).String() + " node-hours"
	case "service_units":
		return amount(text).Round(0).String() + " service units"
	}
	return text + " " + unit
}
