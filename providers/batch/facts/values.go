package facts

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
)

// Must tells an argument that is left out, and may not be.
func (r *Reader) Must(what string, e hcl.Expression, line string) {
	if Absent(e) {
		r.WrongAt(e.Range(), "%s is missing: add %s", what, line)
	}
}

// Absent reports whether an argument is left out.
func Absent(e hcl.Expression) bool {
	v, diags := e.Value(nil)
	return !diags.HasErrors() && v.IsNull()
}

// Date is a day, which begins at midnight UTC, or a time; zero if it is left out.
func (r *Reader) Date(what string, e hcl.Expression) time.Time {
	s, ok := r.given(what, e, `"2026-11-28"`)
	if !ok {
		return time.Time{}
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	r.WrongAt(e.Range(), "%s is %q, neither a day nor a time: write \"2026-11-28\", or \"2026-11-28T12:00:00Z\"", what, s)
	return time.Time{}
}

// given is the value of an argument, as text; false if it is left out, or no
// text or number.
func (r *Reader) given(what string, e hcl.Expression, such string) (string, bool) {
	v, diags := e.Value(nil)
	if r.found(diags); diags.HasErrors() || v.IsNull() {
		return "", false
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || !text.IsKnown() || text.IsNull() {
		r.WrongAt(e.Range(), "%s is a %s: write %s", what, v.Type().FriendlyName(), such)
		return "", false
	}
	return text.AsString(), true
}

// Text is a text that is not empty.
func (r *Reader) Text(what string, e hcl.Expression) string {
	s, ok := r.given(what, e, "text in quotes")
	if ok && s == "" {
		r.WrongAt(e.Range(), "%s is empty: write text in quotes", what)
	}
	return s
}

// Duration is a time with its unit, more than none; 0 if it is left out.
func (r *Reader) Duration(what string, e hcl.Expression) time.Duration {
	s, ok := r.given(what, e, `"24h" or "7d"`)
	if !ok {
		return 0
	}
	d, err := units.ParseDuration(s)
	switch {
	case err != nil:
		r.WrongAt(e.Range(), "%s: %v", what, err)
	case d == 0:
		r.WrongAt(e.Range(), "%s is zero: write \"24h\" or \"7d\"", what)
	}
	return d
}

// Size is an amount of memory with its unit, more than none; 0 if it is left out.
func (r *Reader) Size(what string, e hcl.Expression) int64 {
	s, ok := r.given(what, e, `"40GiB" or "256GB"`)
	if !ok {
		return 0
	}
	n, err := units.ParseSize(s)
	switch {
	case err != nil:
		r.WrongAt(e.Range(), "%s: %v", what, err)
	case n == 0:
		r.WrongAt(e.Range(), "%s is nothing: write \"40GiB\" or \"256GB\", or leave it out where it is not known", what)
	}
	return n
}

// Amount is a decimal number, kept as text; "" if it is left out.
func (r *Reader) Amount(what string, e hcl.Expression) string {
	s, ok := r.given(what, e, `"108.2"`)
	if !ok {
		return ""
	}
	if _, err := units.ParseAmount(s); err != nil {
		r.WrongAt(e.Range(), "%s: %v", what, err)
	}
	return s
}

// Count is a whole number, 1 or more; 0 if it is left out.
func (r *Reader) Count(what string, e hcl.Expression) (n int) {
	s, ok := r.given(what, e, "a whole number")
	if !ok {
		return 0
	}
	if diags := gohcl.DecodeExpression(e, nil, &n); diags.HasErrors() || n < 1 {
		r.WrongAt(e.Range(), "%s is %s: write a whole number, 1 or more, or leave it out where it is not known", what, s)
	}
	return n
}

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Env is variables of jobs by name; nil if it is left out.
func (r *Reader) Env(what string, e hcl.Expression) map[string]string {
	v, diags := e.Value(nil)
	if r.found(diags); diags.HasErrors() || v.IsNull() {
		return nil
	}
	out := map[string]string{}
	texts, err := convert.Convert(v, cty.Map(cty.String))
	if err != nil || !texts.IsWhollyKnown() {
		r.WrongAt(e.Range(), "%s is a %s: write { NAME = \"value\" }", what, v.Type().FriendlyName())
		return nil
	}
	for name, text := range texts.AsValueMap() {
		if !variable.MatchString(name) || strings.HasPrefix(name, "MUSTER_") || text.IsNull() {
			r.WrongAt(e.Range(), "%s: %q cannot be set", what, name)
			continue
		}
		out[name] = text.AsString()
	}
	return out
}
