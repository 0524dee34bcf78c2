package value

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// Typed converts a value to a provider's attribute type: text, JSON number or
// list, durations in seconds, sizes in bytes.
func Typed(a offer.Attr, v cty.Value) (any, error) {
	switch a.Type {
	case offer.String:
		return Text(v)
	case offer.Number:
		if _, err := Number(v); err != nil {
			return nil, err
		}
		return JSON(v), nil
	case offer.Bool:
		if v.Type() != cty.Bool {
			return nil, fmt.Errorf("true or false is needed, this is %s", wording.A(v))
		}
		return v.True(), nil
	case offer.Duration:
		d, err := Duration(v)
		return json.RawMessage(units.Number(d.Seconds())), err
	case offer.Size:
		return Size(v)
	case offer.StringList:
		return Texts(v)
	case offer.NumberList:
		return numbers(v)
	case offer.StringMap:
		return textMap(v)
	}
	return JSON(v), nil
}

func numbers(v cty.Value) ([]json.RawMessage, error) {
	if !IsList(v) {
		return nil, fmt.Errorf("a list of numbers is needed, this is %s", wording.A(v))
	}
	out := []json.RawMessage{}
	for _, e := range v.AsValueSlice() {
		if _, err := Number(e); err != nil {
			return nil, err
		}
		out = append(out, JSON(e))
	}
	return out, nil
}

// textMap is a map of strings.
func textMap(v cty.Value) (map[string]string, error) {
	if !IsMap(v) {
		return nil, fmt.Errorf("a map of strings is needed, this is %s", wording.A(v))
	}
	out := map[string]string{}
	for k, e := range v.AsValueMap() {
		s, err := Text(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = s
	}
	return out, nil
}
