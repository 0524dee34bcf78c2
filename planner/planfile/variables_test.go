package planfile

import (
	"encoding/json"
	"strings"
	"testing"
)

// What JSON says comes out as HCL would state it, in the order of names, and
// nothing in a text is taken for a template.
func TestVariables(t *testing.T) {
	t.Parallel()
	f := File{Head: Head{Variables: map[string]json.RawMessage{
		"text": json.RawMessage(`"a ${b} \"c\""`),
		"n":    json.RawMessage(`0.1`),
		"list": json.RawMessage(`[1,"x",null]`),
		"map":  json.RawMessage(`{"k":true}`),
	}, Sensitive: []string{"token"}}}
	got, err := f.Variables()
	if err != nil {
		t.Fatal(err)
	}
	const want = `list = [1, "x", null]
map = {
  k = true
}
n    = 0.1
text = "a $${b} \"c\""
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f.Head.Variables["n"] = json.RawMessage(`{`)
	if _, err := f.Variables(); err == nil || !strings.Contains(err.Error(), `variable "n"`) {
		t.Errorf("a broken value is told as %v", err)
	}
}
