package lang

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// convertTyped makes a value what a provider's attribute type says: text,
// JSON number or list, durations in seconds, sizes in bytes.
func convertTyped(a offer.Attr, v cty.Value) (any, error) {
	switch a.Type {
	case offer.String:
		return asText(v)
	case offer.Number:
		if _, err := asNumber(v); err != nil {
			return nil, err
		}
		return jsonValue(v), nil
	case offer.Bool:
		if v.Type() != cty.Bool {
			return nil, fmt.Errorf("true or false is needed, this is %s", article(v.Type().FriendlyName()))
		}
		return v.True(), nil
	case offer.Duration:
		d, err := asDuration(v)
		return json.RawMessage(units.Number(d.Seconds())), err
	case offer.Size:
		return asSize(v)
	case offer.StringList:
		return asTexts(v)
	case offer.NumberList:
		return asNumbers(v)
	case offer.StringMap:
		return asTextMap(v)
	}
	return jsonValue(v), nil
}

func asNumbers(v cty.Value) ([]json.RawMessage, error) {
	if !isList(v) {
		return nil, fmt.Errorf("a list of numbers is needed, this is %s", article(v.Type().FriendlyName()))
	}
	out := []json.RawMessage{}
	for _, e := range v.AsValueSlice() {
		if _, err := asNumber(e); err != nil {
			return nil, err
		}
		out = append(out, jsonValue(e))
	}
	return out, nil
}

func asTextMap(v cty.Value) (map[string]string, error) {
	if !isMap(v) {
		return nil, fmt.Errorf("a map of strings is needed, this is %s", article(v.Type().FriendlyName()))
	}
	out := map[string]string{}
	for k, e := range v.AsValueMap() {
		s, err := asText(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = s
	}
	return out, nil
}
