package planner

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/providers/offer"
)

// A Destruction is one row that re-runs finished work, cancels or releases.
type Destruction struct {
	Kind    Kind
	Address string
	Release bool
	// Result says that the row puts an earlier result in the place of the one
	// that is recorded.
	Result  bool
	Foreign []offer.Output // files that are not the job's own, where it replaces some
}

// Destructive lists the rows that need approval of their own, in plan order.
func (p *Plan) Destructive() []Destruction {
	var out []Destruction
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			files, result := pp.Details[i].Foreign, k == Restore && pp.Details[i].Destroy
			if k.Destroys() || result || len(files) > 0 {
				out = append(out, Destruction{Kind: k, Address: pp.Phase.Address(i), Result: result, Foreign: files})
			}
		}
	}
	for _, r := range p.Loose {
		if r.Detail.Destroy {
			out = append(out, Destruction{Kind: r.Kind, Address: r.Address, Release: r.Release})
		}
	}
	return out
}

// DestructiveRows are the addresses of Destructive by the flag that must allow them:
// re-runs and cancels. A release needs no flag: its machine runs nothing and has no
// output that is nowhere else, or a person named the orphan.
func (p *Plan) DestructiveRows() (reruns, cancels []string) {
	for _, d := range p.Destructive() {
		switch {
		case d.Kind == Rerun:
			reruns = append(reruns, d.Address)
		case d.Kind.Destroys() && !d.Release:
			cancels = append(cancels, d.Address)
		}
	}
	return reruns, cancels
}

// Released are the machines that the plan gives back.
func (p *Plan) Released() (ids []string) {
	for _, d := range p.Destructive() {
		if d.Release {
			ids = append(ids, d.Address)
		}
	}
	return ids
}

// Restored are the addresses of the rows that put an earlier result in the
// place of another. A flag that allows re-runs allows them.
func (p *Plan) Restored() (out []string) {
	for _, d := range p.Destructive() {
		if d.Result {
			out = append(out, d.Address)
		}
	}
	return out
}

// Foreign are the rows that replace files which are not the job's own.
func (p *Plan) Foreign() (out []Destruction) {
	for _, d := range p.Destructive() {
		if len(d.Foreign) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// NeedsSaved says why no flag approves the plan, "" when one may.
func (p *Plan) NeedsSaved() string { return strings.Join(p.Asks, "; ") }

// BudgetBroken reports whether a budget or its deadline does not hold: exit 4.
func (p *Plan) BudgetBroken() bool {
	return slices.ContainsFunc(p.Budgets, func(b budget.Check) bool { return len(b.Broken) > 0 })
}

// BudgetHolds reports whether the plan starts nothing and a budget holds jobs in
// their queues. It can be applied, and its exit code is 4 as that of its apply.
func (p *Plan) BudgetHolds() bool {
	return !p.Destroy && !p.RefreshOnly && slices.ContainsFunc(p.Budgets, func(b budget.Check) bool { return b.Holds })
}
