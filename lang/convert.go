package lang

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
)

// asText is the text of a string, number or bool by the language's rule.
func asText(v cty.Value) (string, error) {
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
		return asText(v.GetAttr("key"))
	}
	return "", fmt.Errorf("a string is needed, this is %s", article(v.Type().FriendlyName()))
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func asNumber(v cty.Value) (float64, error) {
	v, _ = v.Unmark()
	if v.Type() != cty.Number || !v.IsKnown() || v.IsNull() {
		return 0, fmt.Errorf("a number is needed, this is %s", article(v.Type().FriendlyName()))
	}
	f, _ := v.AsBigFloat().Float64()
	return f, nil
}

func outside(least, most float64, found string) error {
	if math.IsInf(most, 1) || most >= maxInt {
		return fmt.Errorf("at least %s is needed, %s was found", units.Number(least), found)
	}
	return fmt.Errorf("%s to %s is needed, %s was found", units.Number(least), units.Number(most), found)
}

// maxInt bounds counts of anything: cells, cores, jobs.
const maxInt = 1 << 31

func asInteger(v cty.Value, least int) (int, error) {
	f, err := asNumber(v)
	switch {
	case err != nil:
		return 0, err
	case f != math.Trunc(f):
		return 0, fmt.Errorf("a whole number is needed, %s was found", units.Number(f))
	case f < float64(least) || f > maxInt:
		return 0, outside(float64(least), maxInt, units.Number(f))
	}
	return int(f), nil
}

func asDuration(v cty.Value) (time.Duration, error) {
	s, err := asText(v)
	if err != nil {
		return 0, errors.New("a duration is needed, such as \"4h\"")
	}
	return units.ParseDuration(s)
}

func asSize(v cty.Value) (int64, error) {
	s, err := asText(v)
	if err != nil {
		return 0, errors.New("a size is needed, such as \"16GiB\"")
	}
	return units.ParseSize(s)
}

// sentence makes an error a sentence.
func sentence(err error) string {
	return strings.TrimSuffix(capitalised(err.Error()), ".") + "."
}

func asTexts(v cty.Value) ([]string, error) {
	v, _ = v.UnmarkDeep()
	if !isList(v) {
		return nil, fmt.Errorf("a list is needed, [\"…\"], this is %s", article(v.Type().FriendlyName()))
	}
	out := make([]string, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		s, err := asText(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// isList reports a known list, set or tuple.
func isList(v cty.Value) bool {
	ty := v.Type()
	return v.IsKnown() && !v.IsNull() && (ty.IsTupleType() || ty.IsListType() || ty.IsSetType())
}

// isMap reports a known map or object.
func isMap(v cty.Value) bool {
	ty := v.Type()
	return v.IsKnown() && !v.IsNull() && (ty.IsMapType() || ty.IsObjectType())
}
