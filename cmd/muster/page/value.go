package page

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A Value is one line of `muster console -json`: the value of an expression,
// or why it has none.
type Value struct {
	FormatVersion string          `json:"format_version"`
	Expression    string          `json:"expression"`
	Value         json.RawMessage `json:"value,omitempty"`
	Known         bool            `json:"known"`
	Sensitive     bool            `json:"sensitive,omitempty"`
	Error         string          `json:"error,omitempty"`
}

// ValueOf is a value as it is printed: of one that is sensitive, or not known
// yet, only that it is.
func ValueOf(src string, v cty.Value, sensitive bool) (Value, error) {
	r := Value{FormatVersion: FormatVersion, Expression: src, Sensitive: sensitive}
	v, _ = v.UnmarkDeep()
	if v == cty.NilVal || !v.IsWhollyKnown() {
		return r, nil
	}
	if r.Known = true; sensitive {
		return r, nil
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return r, fmt.Errorf("print %s: %w", src, err)
	}
	r.Value = text
	return r, nil
}
