package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Rule of the placement table: the first whose condition holds decides.
type Rule struct {
	Use   string // "local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production", or a backend address
	Range hcl.Range
	when  *expr.Template
}

// uses are what a rule of the placement table may say, beside a backend.
var uses = []string{"local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production"}

var shapeNames = []string{"cpus", "disk", "gpu_memory", "gpus", "memory", "nodes", "walltime"}

func (l Reader) rule(b *syntax.Block) *Rule {
	r := &Rule{Range: b.Range}
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
		"shape": shapeNames, "jobs": {}, "urgent": {}, "long": {}, "smoke": {}, "phase": {},
	}})
	l.Perhaps.Append(ds...)
	r.when = t
	if !ds.HasErrors() && !l.UnknownIn(when) {
		_, ds = r.When(Scope{Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}, Jobs: 1})
		l.Perhaps.Append(ds...)
	}
	return r
}

// A Scope is what a rule's condition sees.
type Scope struct {
	Shape  offer.Shape
	Jobs   int // in the group
	Urgent bool
	Long   bool
	Smoke  bool
	Phase  string
}

// When evaluates a policy rule.
func (r *Rule) When(s Scope) (bool, diag.List) {
	v, ds := r.when.Render(0, s.lookup)
	if !ds.HasErrors() && (v.Type() != cty.Bool || !v.IsKnown() || v.IsNull()) {
		ds.Errorat(r.when.Range(), "Invalid when", "A condition is true or false, not %s.", wording.A(v))
	}
	if ds.HasErrors() {
		return false, ds
	}
	return v.True(), ds
}

func (s Scope) lookup(root, name string) (cty.Value, bool) {
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
