package lang

import (
	"math"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// isOrder reports an order that is neither a number nor a bool for some job.
func (cp *compiler) isOrder(p *phaseBuild, t *expr.Template) {
	like := p.Grid.Project(t.Axes())
	seen := map[int]bool{}
	for cell := range p.Len() {
		if id := like.Of(cell); !seen[id] {
			seen[id] = true
			v, ds := t.Value(cell)
			if _, ok := rankOf(v); !ok && !ds.HasErrors() {
				cp.Perhaps.Errorat(t.Range(), "Invalid order", "For %s it is %s. Write a number, the smallest first, or a condition, true first.", p.Address(cell), wording.A(v))
				return
			}
		}
	}
}

// rankOf is where a value puts a job; true comes before false.
func rankOf(v cty.Value) (float64, bool) {
	v, _ = v.Unmark()
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		return 0, false
	case v.Type() == cty.Bool && v.True():
		return 0, true
	case v.Type() == cty.Bool:
		return 1, true
	case v.Type() != cty.Number:
		return 0, false
	}
	n, err := value.Number(v)
	return n, err == nil && !math.IsNaN(n)
}

// Ranked reports whether the phase says which of its jobs start first.
func (p *Phase) Ranked() bool { return p.job.order != nil }

// Rank is where `order` puts a job: the smallest starts first. It is 0 for all where
// nothing is written.
func (p *Phase) Rank(cell int) float64 {
	if p.job.order == nil {
		return 0
	}
	v, _ := p.job.order.Value(cell)
	n, _ := rankOf(v)
	return n
}
