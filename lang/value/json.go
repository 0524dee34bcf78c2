package value

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/muster-run/muster/internal/units"
)

// JSON is a value as JSON: keys sorted, numbers by the language's rule, marks dropped, null
// for an unknown value.
func JSON(v cty.Value) json.RawMessage {
	var b bytes.Buffer
	writeJSON(&b, v)
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, v cty.Value) {
	v, _ = v.Unmark()
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		b.WriteString("null")
	case v.Type() == cty.String:
		writeJSONText(b, v.AsString())
	case v.Type() == cty.Number:
		text, _, err := units.NumberText(v)
		if err != nil {
			text = "null"
		}
		b.WriteString(text)
	case v.Type() == cty.Bool:
		text, _ := Text(v)
		b.WriteString(text)
	case IsList(v):
		b.WriteByte('[')
		for i, e := range v.AsValueSlice() {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, e)
		}
		b.WriteByte(']')
	case IsMap(v):
		b.WriteByte('{')
		m := v.AsValueMap()
		for i, k := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONText(b, k)
			b.WriteByte(':')
			writeJSON(b, m[k])
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}

func writeJSONText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}

// Encode is JSON of Go values that always encode.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("muster: encode a definition: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Decode is a JSON text as a value; other text is a string.
func Decode(text string) cty.Value {
	data := []byte(text)
	if json.Valid(data) {
		if ty, err := ctyjson.ImpliedType(data); err == nil {
			if v, err := ctyjson.Unmarshal(data, ty); err == nil {
				if v, err := units.Canonical(v); err == nil {
					return v
				}
			}
		}
	}
	return cty.StringVal(text)
}
