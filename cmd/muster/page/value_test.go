package page

import (
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// What is sensitive is known and not shown; what waits for jobs is not known.
func TestValueOf(t *testing.T) {
	for want, v := range map[string]cty.Value{
		`{"format_version":"1.0","expression":"x","value":[1,"a"],"known":true}`: cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.StringVal("a")}),
		`{"format_version":"1.0","expression":"x","known":false}`:                cty.ListVal([]cty.Value{cty.UnknownVal(cty.String)}),
	} {
		r, err := ValueOf("x", v, false)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(r); string(got) != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	r, err := ValueOf("x", cty.StringVal("secret").Mark("sensitive"), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(r); string(got) != `{"format_version":"1.0","expression":"x","known":true,"sensitive":true}` {
		t.Errorf("a sensitive value is %s", got)
	}
}
