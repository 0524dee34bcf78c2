package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A BudgetCheck compares a budget with the plan.
type BudgetCheck = budget.Check

// A spending is a plan's possible cost, compared with its limits.
type spending struct {
	forecast forecast.Forecast // that shows what budgets and approvals are about
	checks   []BudgetCheck
	ceiling  state.Amounts // that an approval grants
	report
}

// checkBudgets checks every budget against the forecast, and sets the ceiling that
// an approval grants.
func checkBudgets(fs *facts, ps phases, made forecast.Forecast, why unknowns) (out spending) {
	out.forecast = made
	c, f, spent := fs.in.Campaign, &out.forecast, ledger(fs, ps)
	for unit := range c.Policy.ApproveAbove {
		f.Show(unit)
	}
	for _, b := range c.Budgets {
		for unit := range b.Limits {
			f.Show(unit)
		}
	}
	held := budget.Case{Owner: lang.Owner{Lineage: fs.st.Lineage, Dir: c.Dir}, Rests: !ps.anythingStarts(), Forecast: f, Ledger: spent, Works: func() []budget.Work { return claims(ps, fs.in.Pools) }, HowToKnow: why.howToKnow,
		Queued: func(b lang.Budget, unit string) bool { return holdable(fs, ps, b, unit) }, Now: fs.in.Now}
	if ps.anythingRuns() {
		held.End = fs.in.Now.Add(f.Walltime.P90)
	}
	for _, b := range c.Budgets {
		check := held.Check(b)
		for _, text := range check.Broken {
			out.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("Budget %q does not cover this plan", b.Name), Detail: text + ".", Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name)})
		}
		out.checks = append(out.checks, check)
		out.diags.Append(beginsFromZero(fs, ps, b, spent)...)
	}
	out.ceiling = state.Amounts{}
	if !fs.in.Options.Destroy && ps.maySpend() {
		out.ceiling = held.Ceiling(c.Budgets, out.checks)
	}
	out.asks = held.Asks(c.Policy, out.ceiling)
	left := 0 // it is an error that a job has no place
	for _, w := range ps.drafts {
		left += w.unplaced()
	}
	f.LeaveOut(left)
	return out
}

// beginsFromZero warns of a budget of phases or backends on one of which nothing was
// spent, while others that the campaign no longer has are in the ledger: it may be
// one of them, renamed.
func beginsFromZero(fs *facts, ps phases, b lang.Budget, ledger []state.Entry) (diags diag.List) {
	spent, gone := map[string]bool{}, map[string][]string{}
	enter := func(kind, name string, there bool) {
		address := kind + "." + name
		if name == "" || spent[address] {
			return
		}
		if spent[address] = true; !there {
			gone[kind] = append(gone[kind], address)
		}
	}
	for i := range ledger {
		e := &ledger[i]
		if len(e.Spent) > 0 {
			enter("phase", e.Phase, ps.byPhase[e.Phase] != nil)
			enter("backend", e.Backend, fs.backend(e.Backend) != nil)
		}
	}
	for _, name := range b.AppliesTo {
		kind, _, _ := strings.Cut(name, ".")
		if spent[name] || len(gone[kind]) == 0 {
			continue
		}
		slices.Sort(gone[kind])
		way := "If you renamed the backend, restore its old name, or lower the limits by its spending, which `muster cost` shows."
		if kind == "phase" {
			way = fmt.Sprintf("If a phase was renamed, write moved { from = %s, to = %s } on separate lines: its results and their cost follow.", gone[kind][0], name)
		}
		diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("Budget %q begins from zero for %s", b.Name, name), Subject: b.Range.Ptr(), In: fmt.Sprintf("budget %q", b.Name),
			Detail: fmt.Sprintf("The spending of %s does not count in it. %s", strings.Join(gone[kind], ", "), way)})
	}
	return diags
}

// holdable reports whether a job that a budget counts waits in a queue that can
// hold it, and takes some of a unit; "" is any.
func holdable(fs *facts, ps phases, b lang.Budget, unit string) bool {
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			job := w.record(i)
			if k != Continue || job == nil || job.Last() == nil {
				continue
			}
			f, at := fs.observe(job), job.Last()
			if f.Status != state.Queued && f.Status != state.Waiting || !fs.can(at.Backend).Holds || !b.Counts(w.p.Name, at.Backend) {
				continue
			}
			if unit == "" || amount.Of(at.Ceiling[unit]).IsPositive() {
				return true
			}
		}
	}
	return false
}

// ledger is the spending, under its present phases.
func ledger(fs *facts, ps phases) []state.Entry {
	records := (&Plan{Phases: ps.plans()}).Moved()
	if len(records)+len(fs.in.Campaign.Moved) == 0 {
		return fs.st.Ledger
	}
	phase := history.Spender(fs.in.Campaign.Moved, records)
	out := slices.Clone(fs.st.Ledger)
	for i := range out {
		out[i].Phase = phase(&out[i])
	}
	return out
}

// claims are the jobs that start, at their ceilings.
func claims(ps phases, pools []offer.Pool) (out []budget.Work) {
	for _, w := range ps.drafts {
		o := budget.Work{Phase: w.p.Name, Smokes: map[string]decimal.Decimal{}}
		if g := w.pp.Smoke; g != nil && len(g.Run) > 0 {
			each, _ := ceiling.Ceiling(g.Place, lang.Retry{}, pools)
			for unit, a := range each {
				o.Smokes[unit] = a.Mul(decimal.NewFromInt(int64(len(g.Launches()))))
			}
		}
		for at, n := range w.groupJobs() {
			if at > 0 && n > 0 {
				d := w.pp.Placements[at]
				each, _ := ceiling.Ceiling(d, w.p.Retry, pools)
				o.Jobs = append(o.Jobs, budget.Jobs{Backend: d.Backend, N: n, Each: each})
			}
		}
		out = append(out, o)
	}
	return out
}
