// Package value converts the values of expressions to Go and JSON values, by
// the language's rules for numbers, durations and sizes.
package value

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/wording"
)

// Text is the text of a string, number or bool by the language's rule.
func Text(v cty.Value) (string, error) {
	v, _ = v.Unmark()
	switch {
	case v == cty.NilVal || !v.IsKnown():
		return "", errors.New("the value is not known yet")
	case v.IsNull():
		return "", errors.New("the value is null")
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		return map[bool]string{true: "true", false: "false"}[v.True()], nil
	case v.Type() == cty.Number:
		text, _, err := units.NumberText(v)
		return text, err
	case v.Type().IsObjectType() && v.Type().HasAttribute("key"):
		return Text(v.GetAttr("key"))
	}
	return "", fmt.Errorf("a string is needed, this is %s", wording.A(v))
}

// Spelled turns a number, or the object of an axis, into its text and passes
// everything else on.
func Spelled(v cty.Value) (cty.Value, error) {
	raw, marks := v.Unmark()
	if !raw.IsKnown() || raw.IsNull() {
		return v, nil
	}
	if ty := raw.Type(); ty.IsObjectType() && ty.HasAttribute("key") {
		key, err := Spelled(raw.GetAttr("key"))
		return key.WithMarks(marks), err
	}
	if raw.Type() != cty.Number {
		return v, nil
	}
	text, _, err := units.NumberText(raw)
	return cty.StringVal(text).WithMarks(marks), err
}

// Number is a number as a float.
func Number(v cty.Value) (float64, error) {
	v, _ = v.Unmark()
	if v.Type() != cty.Number || !v.IsKnown() || v.IsNull() {
		return 0, fmt.Errorf("a number is needed, this is %s", wording.A(v))
	}
	f, _ := v.AsBigFloat().Float64()
	return f, nil
}

// Outside says that a number is not within its bounds.
func Outside(least, most float64, found string) error {
	if math.IsInf(most, 1) || most >= MaxInt {
		return fmt.Errorf("at least %s is needed, %s was found", units.Number(least), found)
	}
	return fmt.Errorf("%s to %s is needed, %s was found", units.Number(least), units.Number(most), found)
}

// Sensitive marks values that must not be written down.
const Sensitive = "sensitive"

// MaxInt bounds counts of anything: cells, cores, jobs.
const MaxInt = 1 << 31

// Integer is a whole number, at least least.
func Integer(v cty.Value, least int) (int, error) {
	f, err := Number(v)
	switch {
	case err != nil:
		return 0, err
	case f != math.Trunc(f):
		return 0, fmt.Errorf("a whole number is needed, %s was found", units.Number(f))
	case f < float64(least) || f > MaxInt:
		if f > MaxInt {
			return 0, fmt.Errorf("at most %d is possible, %s was found", MaxInt, units.Number(f))
		}
		return 0, Outside(float64(least), MaxInt, units.Number(f))
	}
	return int(f), nil
}

// Duration is a duration written as text.
func Duration(v cty.Value) (time.Duration, error) {
	s, err := Text(v)
	if err != nil {
		return 0, errors.New("a duration is needed, such as \"4h\"")
	}
	return units.ParseDuration(s)
}

// Size is a size in bytes, written as text.
func Size(v cty.Value) (int64, error) {
	s, err := Text(v)
	if err != nil {
		return 0, errors.New("a size is needed, such as \"16GiB\"")
	}
	return units.ParseSize(s)
}

// Texts is a list of strings, numbers and bools as texts.
func Texts(v cty.Value) ([]string, error) {
	v, _ = v.UnmarkDeep()
	if !IsList(v) {
		return nil, fmt.Errorf("a list is needed, [\"…\"], this is %s", wording.A(v))
	}
	out := make([]string, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		s, err := Text(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// IsList reports a known list, set or tuple.
func IsList(v cty.Value) bool {
	ty := v.Type()
	return v.IsKnown() && !v.IsNull() && (ty.IsTupleType() || ty.IsListType() || ty.IsSetType())
}

// IsMap reports a known map or object.
func IsMap(v cty.Value) bool {
	ty := v.Type()
	return v.IsKnown() && !v.IsNull() && (ty.IsMapType() || ty.IsObjectType())
}
