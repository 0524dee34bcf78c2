package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/state"
)

// A BudgetCheck is how a budget stands against the plan.
type BudgetCheck = budget.Check

// budgets checks every budget against the forecast, and sets the ceiling that
// an approval grants.
func (m *maker) budgets() {
	for unit := range m.in.Campaign.Policy.ApproveAbove {
		m.plan.Forecast.Show(unit)
	}
	for _, b := range m.in.Campaign.Budgets {
		for unit := range b.Limits {
			m.plan.Forecast.Show(unit)
		}
	}
	c := budget.Case{Rests: !m.anythingStarts(), Forecast: &m.plan.Forecast, Ledger: m.ledger(), Works: m.claims, HowToKnow: m.howToKnow}
	if m.anythingRuns() {
		c.End = m.in.Now.Add(m.plan.Forecast.Walltime.P90)
	}
	for _, b := range m.in.Campaign.Budgets {
		check := c.Check(b)
		for _, text := range check.Broken {
			m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("budget %q does not hold", b.Name), Detail: text + ".", Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name)})
		}
		m.plan.Budgets = append(m.plan.Budgets, check)
		m.beginsFromZero(b, c.Ledger)
	}
	m.plan.Ceiling = c.Ceiling(m.in.Campaign.Budgets, m.plan.Budgets)
	m.plan.Asks = append(m.plan.Asks, c.Asks(m.in.Campaign.Policy, m.plan.Ceiling)...)
	m.plan.Forecast.LeaveOut(m.leftOut())
}

// beginsFromZero warns of a budget of phases on one of which nothing was spent,
// while phases that the campaign no longer has are in the ledger: it may be one
// of them, renamed.
func (m *maker) beginsFromZero(b lang.Budget, ledger []state.Entry) {
	spent, gone := map[string]bool{}, []string{}
	for i := range ledger {
		phase := ledger[i].Phase
		if phase == "" || spent[phase] || len(ledger[i].Spent) == 0 {
			continue
		}
		if spent[phase] = true; m.byPhase[phase] == nil {
			gone = append(gone, "phase."+phase)
		}
	}
	for _, name := range b.AppliesTo {
		phase, ok := strings.CutPrefix(name, "phase.")
		if !ok || spent[phase] || len(gone) == 0 {
			continue
		}
		slices.Sort(gone)
		m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("budget %q begins from zero for %s", b.Name, name), Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name),
			Detail: fmt.Sprintf("What %s spent does not count in it. If a phase was renamed, write moved { from = %s, to = %s } on lines of their own: its results and what they cost follow.", strings.Join(gone, ", "), gone[0], name)})
	}
}

// leftOut counts the jobs that start and have no place, which is an error.
func (m *maker) leftOut() (n int) {
	for _, w := range m.works {
		n += w.unplaced()
	}
	return n
}

// ledger is what was spent, of records that move under their new phase: its
// budgets count what it cost under its former name.
func (m *maker) ledger() []state.Entry {
	moved := m.plan.Moved()
	if len(moved) == 0 {
		return m.st.Ledger
	}
	out := slices.Clone(m.st.Ledger)
	for i := range out {
		if to, ok := moved[out[i].Address]; ok {
			out[i].Phase = to
		}
	}
	return out
}

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

// anythingStarts reports whether a job or a smoke is started, or waits for one.
func (m *maker) anythingStarts() bool {
	for _, w := range m.works {
		if w.pp.Smoke != nil && len(w.pp.Smoke.Run) > 0 || slices.ContainsFunc(w.pp.Kind, func(k Kind) bool { return k.Starts() || k == Blocked }) {
			return true
		}
	}
	return false
}

// claims are what starts, at its ceiling.
func (m *maker) claims() (out []budget.Work) {
	for _, w := range m.works {
		o := budget.Work{Phase: w.p.Name, Smokes: map[string]decimal.Decimal{}}
		if g := w.pp.Smoke; g != nil && len(g.Run) > 0 {
			each, _ := launches.Ceiling(g.Place, lang.Retry{}, m.in.Pools)
			for unit, a := range each {
				o.Smokes[unit] = a.Mul(decimal.NewFromInt(int64(len(g.Launches()))))
			}
		}
		for at, n := range w.groupJobs() {
			if at > 0 && n > 0 {
				d := w.pp.Placements[at]
				each, _ := launches.Ceiling(d, w.p.Retry, m.in.Pools)
				o.Jobs = append(o.Jobs, budget.Jobs{Backend: d.Backend, N: n, Each: each})
			}
		}
		out = append(out, o)
	}
	return out
}
