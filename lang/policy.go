package lang

import (
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/syntax"
)

// A policyReader reads what a campaign allows: its rules of the placement table,
// its limits on spending without a saved plan, and its budgets.
type policyReader struct {
	*backends.Set
	phases *phases
}

// Policy is the placement table and the limits on who may spend what.
type Policy struct {
	UrgentWithin   time.Duration // 24 h
	LongWait       time.Duration // 4 h
	PriceTolerance float64       // 0.10
	StaleAfter     time.Duration // 180 d
	ApproveAbove   map[string]string
	Allow, Deny    []string // backend addresses
	Rules          []*Rule  // the campaign's own, before the default table
	MaxCancel      int      // most cancels a plan may hold unasked; 0 = no limit
}

// What holds where the policy block says nothing, or there is none.
const (
	urgentWithin   = 24 * time.Hour
	longWait       = 4 * time.Hour
	priceTolerance = 0.10
	staleAfter     = 180 * 24 * time.Hour
)

// policy reads the policy block, or what holds without one.
func (l policyReader) policy(b *syntax.Block) Policy {
	p := Policy{
		UrgentWithin: l.Duration(b, "urgent_within", urgentWithin), LongWait: l.Duration(b, "long_wait", longWait),
		PriceTolerance: l.Number(b, "price_tolerance", 0, math.Inf(1), priceTolerance), StaleAfter: l.Duration(b, "stale_after", staleAfter),
		ApproveAbove: l.Amounts(b, "approve_above"), Allow: l.Places(b, "allow"), Deny: l.Places(b, "deny"), MaxCancel: l.Integer(b, "max_cancel", 1, 0),
	}
	for _, r := range b.All("rule") {
		if rule := l.rule(r); rule != nil {
			p.Rules = append(p.Rules, rule)
		}
	}
	return p
}

// seeds checks the grids against min_seeds.
func (l policyReader) seeds(b *syntax.Block) {
	if least := l.Integer(b, "min_seeds", 1, 1); b != nil && b.Expr("min_seeds") != nil {
		l.phases.seeded(least, b.Expr("min_seeds").Range())
	}
}

// Permits reports whether jobs may run on a backend, by its address.
func (p *Policy) Permits(backend string) bool {
	return (len(p.Allow) == 0 || slices.Contains(p.Allow, backend)) && !slices.Contains(p.Deny, backend)
}

// Stale reports whether facts of a month ("2026-05") are older than StaleAfter,
// counted from the month's last day. What names no month is not stale.
func (p *Policy) Stale(month string, now time.Time) bool {
	at, err := time.Parse("2006-01", month)
	return err == nil && p.StaleAfter > 0 && now.Sub(at.AddDate(0, 1, -1)) > p.StaleAfter
}
