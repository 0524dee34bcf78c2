package lang

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// Defaults of the policy block; the sources are planner.md's.
const (
	urgentWithin   = 24 * time.Hour
	longWait       = 4 * time.Hour
	priceTolerance = 0.10
	staleAfter     = 180 * 24 * time.Hour
	warnAt         = 0.8
)

// uses are what a rule of the placement table may say, beside a backend.
var uses = []string{"local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production"}

func (l *loader) policy() {
	b := l.top.One("policy")
	l.c.Policy = Policy{
		UrgentWithin: l.Duration(b, "urgent_within", urgentWithin), LongWait: l.Duration(b, "long_wait", longWait),
		PriceTolerance: l.Number(b, "price_tolerance", 0, math.Inf(1), priceTolerance), StaleAfter: l.Duration(b, "stale_after", staleAfter),
		ApproveAbove: l.Amounts(b, "approve_above"), Allow: l.backends.Places(b, "allow"), Deny: l.backends.Places(b, "deny"), MaxCancel: l.Integer(b, "max_cancel", 1, 0),
	}
	for _, r := range b.All("rule") {
		if rule := l.rule(r); rule != nil {
			l.c.Policy.Rules = append(l.c.Policy.Rules, rule)
		}
	}
	for _, p := range l.order {
		l.allowed(p)
	}
}

// allowed tells candidates that the policy forbids, all of them at once.
func (l *loader) allowed(p *phaseBuild) {
	if len(p.Candidates) == 0 {
		return
	}
	for _, c := range p.Candidates {
		if l.c.Policy.Permits(c) {
			return
		}
	}
	l.Perhaps.Errorat(p.b.One("place").Expr("candidates").Range(), "The policy forbids every candidate", "phase.%s may run on %s, and policy allows none of them.", p.Name, strings.Join(p.Candidates, ", "))
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

var shapeNames = []string{"cpus", "disk", "gpu_memory", "gpus", "memory", "nodes", "walltime"}

func (l *loader) rule(b *syntax.Block) *Rule {
	r := &Rule{Range: b.Range}
	use, when := b.Expr("use"), b.Expr("when")
	if use == nil || when == nil || !l.backends.Exist(use, "use") {
		return nil
	}
	if v, ok := l.Eval(use, l.backends.Values()); ok {
		text, err := value.Text(v)
		r.Use = strings.TrimPrefix(text, "backend.")
		if err != nil || !slices.Contains(uses, r.Use) && !slices.Contains(l.backends.Names, r.Use) {
			l.Wrong(use, "use", "%q is not a way to choose%s Ways are %s, or a backend.", wording.Clip(text), wording.DidYouMean(text, uses), strings.Join(uses, ", "))
		}
	}
	t, ds := expr.Compile(when, &expr.Scope{Static: l.Static, Symbols: map[string][]string{
		"shape": shapeNames, "jobs": {}, "urgent": {}, "long": {}, "smoke": {}, "phase": {},
	}})
	l.Perhaps.Append(ds...)
	r.when = t
	if !ds.HasErrors() && !l.UnknownIn(when) {
		_, ds = r.When(RuleScope{Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}, Jobs: 1})
		l.Perhaps.Append(ds...)
	}
	return r
}

// A RuleScope is what a rule's condition sees.
type RuleScope struct {
	Shape  offer.Shape
	Jobs   int // in the group
	Urgent bool
	Long   bool
	Smoke  bool
	Phase  string
}

// When evaluates a policy rule.
func (r *Rule) When(s RuleScope) (bool, diag.List) {
	v, ds := r.when.Render(0, s.lookup)
	if !ds.HasErrors() && (v.Type() != cty.Bool || !v.IsKnown() || v.IsNull()) {
		ds.Errorat(r.when.Range(), "Invalid when", "A condition is true or false, not %s.", wording.A(v))
	}
	if ds.HasErrors() {
		return false, ds
	}
	return v.True(), ds
}

func (s RuleScope) lookup(root, name string) (cty.Value, bool) {
	switch root {
	case "shape":
		n, ok := map[string]int64{
			"cpus": int64(s.Shape.CPUs), "gpus": int64(s.Shape.GPUs), "nodes": int64(s.Shape.Nodes), "memory": s.Shape.Memory,
			"disk": s.Shape.Disk, "gpu_memory": s.Shape.GPU.Memory, "walltime": int64(s.Shape.Walltime / time.Second),
		}[name]
		return cty.NumberIntVal(n), ok
	case "jobs":
		return cty.NumberIntVal(int64(s.Jobs)), true
	case "urgent":
		return cty.BoolVal(s.Urgent), true
	case "long":
		return cty.BoolVal(s.Long), true
	case "smoke":
		return cty.BoolVal(s.Smoke), true
	case "phase":
		return cty.StringVal(s.Phase), true
	}
	return cty.NilVal, false
}

// budgets reads the budget blocks.
func (l *loader) budgets() {
	for _, b := range l.top.All("budget") {
		x := Budget{Name: b.Name(), Limits: l.Amounts(b, "limits"), WarnAt: l.Number(b, "warn_at", 0, 1, warnAt), Strict: l.Bool(b, "strict"), Range: b.Range}
		if text, ok := l.MaybeText(b, "deadline"); ok {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				l.Wrong(b.Expr("deadline"), "deadline", "%q is not a time; write it with its zone, such as \"2026-12-15T00:00:00Z\".", wording.Clip(text))
			}
			x.Deadline = at
		}
		if b.Expr("limits") == nil && b.Expr("deadline") == nil && !l.Broken {
			l.Sure.Errorat(b.Range, "A budget without a limit", "Write limits = { usd = 40 } or deadline = \"2026-12-15T00:00:00Z\".")
		}
		if e := b.Expr("limits"); e != nil && len(x.Limits) == 0 && b.Expr("deadline") == nil {
			if v, ok := l.Peek(e, nil); ok && value.IsMap(v) && v.LengthInt() == 0 {
				l.Wrong(e, "limits", "The map is empty, so the budget limits nothing: write { usd = 40 }, or take the block out.")
			}
		}
		for _, ref := range l.References(b, "applies_to") {
			x.AppliesTo = append(x.AppliesTo, l.budgetTarget(ref)...)
		}
		l.c.Budgets = append(l.c.Budgets, x)
	}
}

func (l *loader) budgetTarget(ref decode.Reference) []string {
	address := strings.Join(ref.Parts, ".")
	switch {
	case len(ref.Parts) == 2 && ref.Parts[0] == "phase":
		if l.phases[ref.Parts[1]] == nil {
			l.unknownPhase(ref.Parts[1], ref.At)
			return nil
		}
	case len(ref.Parts) == 3 && ref.Parts[0] == "backend":
		if name := ref.Parts[1] + "." + ref.Parts[2]; !slices.Contains(l.backends.Names, name) {
			l.backends.Unknown(name, ref.At)
			return nil
		}
	default:
		l.Sure.Errorat(ref.At, "Neither a phase nor a backend", "applies_to names phases and backends: [phase.students, backend.slurm.alpine].")
		return nil
	}
	return []string{address}
}
