package lang

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/syntax"
)

// A policyReader reads a campaign's policy: its rules of the placement table,
// its limits on spending without a saved plan, and its budgets.
type policyReader struct {
	*backends.Set
	phases *phases
	shared bool // budgets are of many campaigns
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
	SecondLook     SecondLook
}

// A SecondLook says which plans more than one person must approve.
type SecondLook struct {
	Approvals int  // at least 1
	Always    bool // no condition is given
	// Each is a condition of its own; the zero value is none.
	WalltimeAbove time.Duration
	MoneyAbove    string // US dollars, decimal
	FirstOfKind   bool
}

// The defaults where the policy block has no value, or there is none.
const (
	urgentWithin   = 24 * time.Hour
	longWait       = 4 * time.Hour
	priceTolerance = 0.10
	staleAfter     = 180 * 24 * time.Hour
)

// policy reads the policy block, or returns the defaults without one.
func (l policyReader) policy(b *syntax.Block) Policy {
	p := Policy{
		UrgentWithin: l.Duration(b, "urgent_within", urgentWithin), LongWait: l.Duration(b, "long_wait", longWait),
		PriceTolerance: l.Number(b, "price_tolerance", 0, math.Inf(1), priceTolerance), StaleAfter: l.Duration(b, "stale_after", staleAfter),
		ApproveAbove: l.Amounts(b, "approve_above"), Allow: l.Places(b, "allow"), Deny: l.Places(b, "deny"), MaxCancel: l.Integer(b, "max_cancel", 1, 0),
	}
	p.SecondLook = l.secondLook(b)
	for _, r := range b.All("rule") {
		if rule := l.rule(r); rule != nil {
			p.Rules = append(p.Rules, rule)
		}
	}
	return p
}

func (l policyReader) secondLook(b *syntax.Block) SecondLook {
	out := SecondLook{Approvals: l.Integer(b, "require_approvals", 1, 1)}
	w := b.One("when")
	if out.Always = w == nil; out.Always {
		return out
	}
	out.WalltimeAbove, out.FirstOfKind = l.Duration(w, "walltime_above", 0), l.Bool(w, "first_of_kind")
	if w.Expr("money_above") != nil {
		out.MoneyAbove = strconv.FormatFloat(l.Number(w, "money_above", 0, math.Inf(1), 0), 'f', -1, 64)
	}
	if out.WalltimeAbove == 0 && !out.FirstOfKind && out.MoneyAbove == "" && !l.Broken {
		l.Sure.Errorat(w.Range, "No plan needs a second look", "The block names no condition. Write walltime_above, money_above or first_of_kind, or leave the block out: then every plan needs one.")
	}
	if b.Expr("require_approvals") == nil {
		out.Approvals = 2
	}
	return out
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
// counted from the month's last day. Facts without a month are not stale.
func (p *Policy) Stale(month string, now time.Time) bool {
	at, err := time.Parse("2006-01", month)
	return err == nil && p.StaleAfter > 0 && now.Sub(at.AddDate(0, 1, -1)) > p.StaleAfter
}
