// Package decode reads the attributes of blocks as Go values. It reports a
// wrong value together with the right way to write it.
package decode

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Reader evaluates expressions that know no cell. Diagnostics go to two lists: Sure, the
// source's, holds errors that are certain; Perhaps holds those that may follow from an
// unreadable file, and is dropped when there is one.
type Reader struct {
	*syntax.Source
	Static  *hcl.EvalContext // var, local and functions
	Meter   expr.Meter       // of all expressions
	Perhaps diag.List
}

// Functions is a scope without names.
func (r *Reader) Functions() *hcl.EvalContext {
	return &hcl.EvalContext{Functions: map[string]function.Function(r.Static.Functions)}
}

// Eval evaluates an expression that knows no cell. ok is false when it failed,
// which was reported, or when it depends on a variable without a value. Null is
// as if the attribute were not written.
func (r *Reader) Eval(e hcl.Expression, more ...map[string]cty.Value) (v cty.Value, ok bool) {
	if e == nil {
		return cty.NilVal, false
	}
	static := r.Static
	for _, m := range more {
		static = static.NewChild()
		static.Variables = m
	}
	v, ds := expr.Static(e, static)
	r.Perhaps.Append(ds...)
	if ds.HasErrors() || !v.IsWhollyKnown() {
		return cty.NilVal, false
	}
	if raw, _ := v.Unmark(); raw.IsNull() {
		return cty.NilVal, false
	}
	return v, true
}

// Wrong reports an attribute with a wrong value.
func (r *Reader) Wrong(e hcl.Expression, name, format string, args ...any) {
	r.Sure.Errorat(e.Range(), "Invalid "+name, format, args...)
}

// Text is a string attribute; "" when it is not written or wrong.
func (r *Reader) Text(b *syntax.Block, name string) string {
	s, _ := r.MaybeText(b, name)
	return s
}

func (r *Reader) MaybeText(b *syntax.Block, name string) (string, bool) {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return "", false
	}
	s, err := value.Text(v)
	if err != nil {
		r.Wrong(e, name, "%s.", wording.Capitalised(err.Error()))
		return "", false
	}
	return s, true
}

// OneOf is a string attribute with few legal values.
func (r *Reader) OneOf(b *syntax.Block, name string, legal ...string) string {
	s, ok := r.MaybeText(b, name)
	if !ok {
		return ""
	}
	for _, x := range legal {
		if s == x {
			return s
		}
	}
	r.Wrong(b.Expr(name), name, "%q is not one of %s%s", wording.Clip(s), strings.Join(legal, ", "), wording.DidYouMean(s, legal))
	return ""
}

func (r *Reader) Bool(b *syntax.Block, name string) bool {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return false
	}
	v, _ = v.Unmark()
	if v.Type() != cty.Bool {
		r.Wrong(e, name, "True or false is needed, this is %s.", wording.A(v))
		return false
	}
	return v.True()
}

// Number is a number attribute within a range, both ends included.
func (r *Reader) Number(b *syntax.Block, name string, least, most, otherwise float64) float64 {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return otherwise
	}
	f, err := value.Number(v)
	if err == nil && (f < least || f > most) {
		err = value.Outside(least, most, units.Number(f))
	}
	if err != nil {
		r.Wrong(e, name, "%s.", wording.Capitalised(err.Error()))
		return otherwise
	}
	return f
}

// Integer is a whole-number attribute, at least least.
func (r *Reader) Integer(b *syntax.Block, name string, least, otherwise int) int {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return otherwise
	}
	n, err := value.Integer(v, least)
	if err != nil {
		r.Wrong(e, name, "%s.", wording.Capitalised(err.Error()))
		return otherwise
	}
	return n
}

// Duration is a duration attribute; a number is an error that says what to write.
func (r *Reader) Duration(b *syntax.Block, name string, otherwise time.Duration) time.Duration {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return otherwise
	}
	d, err := value.Duration(v)
	if err != nil {
		r.Wrong(e, name, "%s", wording.Sentence(err))
		return otherwise
	}
	return d
}

func (r *Reader) Size(b *syntax.Block, name string) int64 {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return 0
	}
	n, err := value.Size(v)
	if err != nil {
		r.Wrong(e, name, "%s", wording.Sentence(err))
	}
	return n
}

// Texts is a list of strings.
func (r *Reader) Texts(b *syntax.Block, name string) []string {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return nil
	}
	list, err := value.Texts(v)
	if err != nil {
		r.Wrong(e, name, "%s.", wording.Capitalised(err.Error()))
	}
	return list
}

// TextMap is a map of strings.
func (r *Reader) TextMap(b *syntax.Block, name string) map[string]string {
	e := b.Expr(name)
	v, ok := r.Eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
		r.Wrong(e, name, "A map is needed, { NAME = \"…\" }, this is %s.", wording.A(v))
		return nil
	}
	out := map[string]string{}
	for k, x := range v.AsValueMap() {
		s, err := value.Text(x)
		if err != nil {
			r.Wrong(e, name, "%s: %s.", k, err)
			continue
		}
		out[k] = s
	}
	return out
}

// Amounts is a map from unit to a decimal quantity, at least zero.
func (r *Reader) Amounts(b *syntax.Block, name string) map[string]string {
	out := r.TextMap(b, name)
	for _, unit := range slices.Sorted(maps.Keys(out)) {
		if !isUnit(unit) {
			r.Wrong(b.Expr(name), name, "There is no unit named %q%s Units are %s.", wording.Clip(unit), wording.DidYouMean(unit, amountUnits), strings.Join(amountUnits, ", "))
			delete(out, unit)
			continue
		}
		a, err := units.ParseAmount(out[unit])
		if err != nil || a.IsNegative() {
			r.Wrong(b.Expr(name), name, "%s must be a number, at least 0; %q was found.", unit, wording.Clip(out[unit]))
			delete(out, unit)
		}
	}
	return out
}

// amountUnits are the units of budgets and ceilings.
var amountUnits = []string{"usd", "gpu_hours", "cpu_hours", "node_hours", "service_units"}

func isUnit(s string) bool {
	for _, u := range amountUnits {
		if s == u {
			return true
		}
	}
	return false
}

// Peek evaluates without a word.
func (r *Reader) Peek(e hcl.Expression, vars map[string]cty.Value) (cty.Value, bool) {
	if e == nil {
		return cty.NilVal, false
	}
	ctx := r.Static.NewChild()
	ctx.Variables = vars
	v, ds := expr.Eval(e, ctx)
	if ds.HasErrors() || v == cty.NilVal || !v.IsWhollyKnown() || v.IsMarked() {
		return cty.NilVal, false
	}
	return v, true
}
