package expr

import (
	"cmp"
	"errors"
	"reflect"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
)

// TooMuchWork is the summary of the error when a campaign has spent its Meter.
const TooMuchWork = "The campaign takes too much work to read"

// The costs that a Meter counts, in visits of a node of an expression: some 60
// ns each.
const (
	maxWork     = 320_000_000 // of a campaign
	stepWork    = 32          // one iteration of a for expression, beside its nodes
	elementWork = 32          // one element that a function takes or gives
	textPerWork = 16          // bytes of text that a function takes or gives
)

// A Meter bounds the work of all expressions of one campaign over all its cells
// while it is read. Once it is spent every evaluation fails. It counts, and asks
// no clock, so that a campaign is read on every machine or on none. Its methods
// may be called by several goroutines at once; those of nil count nothing.
type Meter struct {
	Most    int64 // visits; 0 is 320 million, about 20 s
	work    atomic.Int64
	stopped atomic.Bool
}

// meterName cannot be written in HCL, so no user's name hides it.
const meterName = "muster meter"

var meterType = cty.Capsule("meter", reflect.TypeFor[Meter]())

// Context is an empty scope; evaluation in its children is counted.
func (m *Meter) Context() *hcl.EvalContext {
	return &hcl.EvalContext{Variables: map[string]cty.Value{meterName: cty.CapsuleVal(meterType, m)}}
}

func meterOf(ctx *hcl.EvalContext) *Meter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[meterName]; ok {
			return v.EncapsulatedValue().(*Meter)
		}
	}
	return nil
}

// Eval is Eval, counted.
func (m *Meter) Eval(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	inner := m.Context().NewChild()
	inner.Variables, inner.Functions = ctx.Variables, ctx.Functions
	return Eval(e, inner)
}

// Stop ends the counting: the campaign is read.
func (m *Meter) Stop() { m.stopped.Store(true) }

// Spend counts values that a function takes or gives.
func (m *Meter) Spend(vs ...cty.Value) error {
	if m == nil || m.stopped.Load() {
		return nil
	}
	n := 0
	for _, v := range vs {
		n += workOf(v)
	}
	if m.spend(n); m.spent() {
		return errTooMuchWork
	}
	return nil
}

var errTooMuchWork = errors.New("it takes too much work")

func (m *Meter) spend(n int) {
	if m != nil && !m.stopped.Load() {
		m.work.Add(int64(n))
	}
}

func (m *Meter) spent() bool {
	return m != nil && m.work.Load() > cmp.Or(m.Most, maxWork) && !m.stopped.Load()
}

func workOf(v cty.Value) int {
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
		return 1
	case ty == cty.String:
		return 1 + len(v.AsString())/textPerWork
	case ty.IsPrimitiveType() || !v.CanIterateElements():
		return 1
	case ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() && ty.ElementType() != cty.String:
		return 1 + elementWork*v.LengthInt()
	}
	n := 1
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		n += elementWork + workOf(e)
	}
	return n
}

// nodes is how many nodes an expression has.
func nodes(e hclsyntax.Expression) (n int) {
	_ = hclsyntax.VisitAll(e, func(hclsyntax.Node) hcl.Diagnostics { n++; return nil })
	return n
}
