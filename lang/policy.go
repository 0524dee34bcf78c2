package lang

import (
	"math"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
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
	b := l.top.one("policy")
	l.c.Policy = Policy{
		UrgentWithin: l.duration(b, "urgent_within", urgentWithin), LongWait: l.duration(b, "long_wait", longWait),
		PriceTolerance: l.number(b, "price_tolerance", 0, math.Inf(1), priceTolerance), StaleAfter: l.duration(b, "stale_after", staleAfter),
		ApproveAbove: l.amounts(b, "approve_above"), Allow: l.places(b, "allow"), Deny: l.places(b, "deny"), MaxCancel: l.integer(b, "max_cancel", 1, 0),
	}
	for _, r := range b.all("rule") {
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
	l.ds.Errorat(p.b.one("place").expr("candidates").Range(), "The policy forbids every candidate", "phase.%s may run on %s, and policy allows none of them.", p.Name, strings.Join(p.Candidates, ", "))
}

// Permits reports whether jobs may run on a backend, by its address.
func (p *Policy) Permits(backend string) bool {
	return (len(p.Allow) == 0 || contains(p.Allow, backend)) && !contains(p.Deny, backend)
}

var shapeNames = []string{"cpus", "disk", "gpu_memory", "gpus", "memory", "nodes", "walltime"}

func (l *loader) rule(b *block) *Rule {
	r := &Rule{Range: b.rng}
	use, when := b.expr("use"), b.expr("when")
	if use == nil || when == nil || !l.backendsExist(use, "use") {
		return nil
	}
	if v, ok := l.eval(use, l.backendValues()); ok {
		text, err := asText(v)
		r.Use = strings.TrimPrefix(text, "backend.")
		if err != nil || !contains(uses, r.Use) && !contains(l.backendNames, r.Use) {
			l.wrong(use, "use", "%q is not a way to choose%s Ways are %s, or a backend.", clip(text), didYouMean(text, uses), strings.Join(uses, ", "))
		}
	}
	t, ds := expr.Compile(when, &expr.Scope{Static: l.static, Symbols: map[string][]string{
		"shape": shapeNames, "jobs": {}, "urgent": {}, "long": {}, "smoke": {}, "phase": {},
	}})
	l.ds.Append(ds...)
	r.when = t
	if !ds.HasErrors() && !l.unknownIn(when) {
		_, ds = r.When(RuleScope{Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}, Jobs: 1})
		l.ds.Append(ds...)
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
		ds.Errorat(r.when.Range(), "Invalid when", "A condition is true or false, not %s.", article(v.Type().FriendlyName()))
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
	for _, b := range l.top.all("budget") {
		x := Budget{Name: b.name(), Limits: l.amounts(b, "limits"), WarnAt: l.number(b, "warn_at", 0, 1, warnAt), Strict: l.boolean(b, "strict"), Range: b.rng}
		if text, ok := l.maybeText(b, "deadline"); ok {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				l.wrong(b.expr("deadline"), "deadline", "%q is not a time; write it with its zone, such as \"2026-12-15T00:00:00Z\".", clip(text))
			}
			x.Deadline = at
		}
		if b.expr("limits") == nil && b.expr("deadline") == nil && !l.broken {
			l.sure.Errorat(b.rng, "A budget without a limit", "Write limits = { usd = 40 } or deadline = \"2026-12-15T00:00:00Z\".")
		}
		for _, ref := range l.references(b, "applies_to") {
			x.AppliesTo = append(x.AppliesTo, l.budgetTarget(ref)...)
		}
		l.c.Budgets = append(l.c.Budgets, x)
	}
}

func (l *loader) budgetTarget(ref reference) []string {
	address := strings.Join(ref.parts, ".")
	switch {
	case len(ref.parts) == 2 && ref.parts[0] == "phase":
		if l.phases[ref.parts[1]] == nil {
			l.unknownPhase(ref.parts[1], ref.at)
			return nil
		}
	case len(ref.parts) == 3 && ref.parts[0] == "backend":
		if name := ref.parts[1] + "." + ref.parts[2]; !contains(l.backendNames, name) {
			l.ds.Errorat(ref.at, "Unknown backend", "There is no backend.%s%s Declared: %s.", clip(name), didYouMean(name, l.backendNames), strings.Join(l.backendNames, ", "))
			return nil
		}
	default:
		l.sure.Errorat(ref.at, "Neither a phase nor a backend", "applies_to names phases and backends: [phase.students, backend.slurm.alpine].")
		return nil
	}
	return []string{address}
}
