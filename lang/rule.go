package lang

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Rule of the placement table: the first whose condition holds decides.
type Rule struct {
	Use  string // "local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production", or a backend address
	when *expr.Template
}

// uses are the words of a rule of the placement table, beside a backend.
var uses = []string{"local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production"}

// shapeFields are the fields of a shape in a condition, by name: its resources
// that are numbers, with gpu_ before those of a GPU.
var shapeFields = func() map[string]schema.Field[offer.Shape] {
	out := map[string]schema.Field[offer.Shape]{}
	add := func(fields []schema.Field[offer.Shape], as string) {
		for _, f := range fields {
			if _, is := f.Number(&offer.Shape{}); is {
				out[as+f.Name] = f
			}
		}
	}
	add(schema.Resources, "")
	add(schema.GPU, "gpu_")
	return out
}()

func (l policyReader) rule(b *syntax.Block) *Rule {
	r := &Rule{}
	use, when := b.Expr("use"), b.Expr("when")
	if use == nil || when == nil || !l.Exist(use, "use") {
		return nil
	}
	if v, ok := l.Eval(use, l.Values()); ok {
		text, err := value.Text(v)
		r.Use = strings.TrimPrefix(text, "backend.")
		if err != nil || !slices.Contains(uses, r.Use) && !slices.Contains(l.Names, r.Use) {
			l.Wrong(use, "use", "%q is not a way to choose%s Ways are %s, or a backend.", wording.Clip(text), wording.DidYouMean(text, uses), strings.Join(uses, ", "))
		}
	}
	t, ds := expr.Compile(when, &expr.Scope{Static: l.Static, Symbols: map[string][]string{
		"shape": slices.Sorted(maps.Keys(shapeFields)), "jobs": {}, "urgent": {}, "long": {}, "smoke": {}, "phase": {},
	}})
	l.Perhaps.Append(ds...)
	r.when = t
	if !ds.HasErrors() && !l.UnknownIn(when) {
		_, ds = r.When(RuleScope{Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}, Jobs: 1})
		l.Perhaps.Append(ds...)
	}
	return r
}

// A RuleScope has the values in a rule's condition.
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
		f, ok := shapeFields[name]
		if !ok {
			return cty.NilVal, false
		}
		n, _ := f.Number(&s.Shape)
		return cty.NumberIntVal(n), true
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
