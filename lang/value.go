package lang

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
)

// eval evaluates an expression that knows no cell. ok is false when it failed,
// which was told, or when it depends on a variable without a value. Null is
// as if the attribute were not written.
func (l *loader) eval(e hcl.Expression, more ...map[string]cty.Value) (v cty.Value, ok bool) {
	if e == nil {
		return cty.NilVal, false
	}
	static := l.static
	for _, m := range more {
		static = static.NewChild()
		static.Variables = m
	}
	t, ds := expr.Compile(e, &expr.Scope{Static: static})
	if !ds.HasErrors() {
		var late diag.List
		v, late = t.Value(0)
		ds.Append(late...)
	}
	l.ds.Append(ds...)
	if ds.HasErrors() || !v.IsWhollyKnown() {
		return cty.NilVal, false
	}
	if raw, _ := v.Unmark(); raw.IsNull() {
		return cty.NilVal, false
	}
	return v, true
}

// wrong tells that an attribute's value is not what it must be.
func (l *loader) wrong(e hcl.Expression, name, format string, args ...any) {
	l.sure.Errorat(e.Range(), "Invalid "+name, format, args...)
}

// text is a string attribute; "" when it is not written or wrong.
func (l *loader) text(b *block, name string) string {
	s, _ := l.maybeText(b, name)
	return s
}

func (l *loader) maybeText(b *block, name string) (string, bool) {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return "", false
	}
	s, err := asText(v)
	if err != nil {
		l.wrong(e, name, "%s.", capitalised(err.Error()))
		return "", false
	}
	return s, true
}

// oneOf is a string attribute with few legal values.
func (l *loader) oneOf(b *block, name string, legal ...string) string {
	s, ok := l.maybeText(b, name)
	if !ok {
		return ""
	}
	for _, x := range legal {
		if s == x {
			return s
		}
	}
	l.wrong(b.expr(name), name, "%q is not one of %s%s", clip(s), strings.Join(legal, ", "), didYouMean(s, legal))
	return ""
}

// didYouMean ends a sentence.
func didYouMean(name string, known []string) string {
	if s := diag.Suggest(name, known); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return "."
}

func (l *loader) boolean(b *block, name string) bool {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return false
	}
	v, _ = v.Unmark()
	if v.Type() != cty.Bool {
		l.wrong(e, name, "True or false is needed, this is %s.", article(v.Type().FriendlyName()))
		return false
	}
	return v.True()
}

// number is a number attribute within a range, both ends included.
func (l *loader) number(b *block, name string, least, most, otherwise float64) float64 {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return otherwise
	}
	f, err := asNumber(v)
	if err == nil && (f < least || f > most) {
		err = outside(least, most, units.Number(f))
	}
	if err != nil {
		l.wrong(e, name, "%s.", capitalised(err.Error()))
		return otherwise
	}
	return f
}

// integer is a whole-number attribute, at least least.
func (l *loader) integer(b *block, name string, least, otherwise int) int {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return otherwise
	}
	n, err := asInteger(v, least)
	if err != nil {
		l.wrong(e, name, "%s.", capitalised(err.Error()))
		return otherwise
	}
	return n
}

// duration is a duration attribute; a number is an error that says what to write.
func (l *loader) duration(b *block, name string, otherwise time.Duration) time.Duration {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return otherwise
	}
	d, err := asDuration(v)
	if err != nil {
		l.wrong(e, name, "%s", sentence(err))
		return otherwise
	}
	return d
}

func (l *loader) size(b *block, name string) int64 {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return 0
	}
	n, err := asSize(v)
	if err != nil {
		l.wrong(e, name, "%s", sentence(err))
	}
	return n
}

// texts is a list of strings.
func (l *loader) texts(b *block, name string) []string {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	list, err := asTexts(v)
	if err != nil {
		l.wrong(e, name, "%s.", capitalised(err.Error()))
	}
	return list
}

// textMap is a map of strings.
func (l *loader) textMap(b *block, name string) map[string]string {
	e := b.expr(name)
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !isMap(v) {
		l.wrong(e, name, "A map is needed, { NAME = \"…\" }, this is %s.", article(v.Type().FriendlyName()))
		return nil
	}
	out := map[string]string{}
	for k, x := range v.AsValueMap() {
		s, err := asText(x)
		if err != nil {
			l.wrong(e, name, "%s: %s.", k, err)
			continue
		}
		out[k] = s
	}
	return out
}

// amounts is a map from unit to a decimal quantity, at least zero.
func (l *loader) amounts(b *block, name string) map[string]string {
	out := l.textMap(b, name)
	for _, unit := range sortedKeys(out) {
		if !isUnit(unit) {
			l.wrong(b.expr(name), name, "There is no unit named %q%s Units are %s.", clip(unit), didYouMean(unit, amountUnits), strings.Join(amountUnits, ", "))
			delete(out, unit)
			continue
		}
		a, err := units.ParseAmount(out[unit])
		if err != nil || a.IsNegative() {
			l.wrong(b.expr(name), name, "%s must be a number, at least 0; %q was found.", unit, clip(out[unit]))
			delete(out, unit)
		}
	}
	return out
}

// amountUnits are what budgets and ceilings are counted in.
var amountUnits = []string{"usd", "gpu_hours", "cpu_hours", "node_hours", "service_units"}

func isUnit(s string) bool {
	for _, u := range amountUnits {
		if s == u {
			return true
		}
	}
	return false
}
