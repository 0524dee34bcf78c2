package page

import (
	"testing"

	"github.com/muster-run/muster/planner/advice"
)

// TestEditText: the text says where a new line goes, and shows an existing line with its
// replacement.
func TestEditText(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]advice.Edit{
		"\n     below c.muster.hcl:7\n     + memory = \"4GB\"\n":                            {File: "c.muster.hcl", Line: 7, After: `memory = "4GB"`},
		"\n     c.muster.hcl:7\n     - memory = \"64GB\"\n     + memory = \"4GB\"\n":        {File: "c.muster.hcl", Line: 7, Before: `memory = "64GB"`, After: `memory = "4GB"`},
		"\n     c.muster.hcl:7\n     - a { b = 1 }\n     + a {\n     +   b = 2\n     + }\n": {File: "c.muster.hcl", Line: 7, Before: `a { b = 1 }`, After: "a {\n  b = 2\n}"},
	} {
		if got := editText(e); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
