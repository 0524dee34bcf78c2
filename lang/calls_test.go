package lang

import (
	"strings"
	"testing"
)

// TestCalls: a call that goes wrong is told in our words: which argument of which function,
// what is wrong, and how the call is written.
func TestCalls(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		`upper(null)`:                    `Wrong argument of upper: Argument str: it is null.`,
		`upper(var.n)`:                   `write coalesce(VALUE, FALLBACK)`,
		`join(",", null)`:                `Wrong argument of join: Argument lists: it is null`,
		`upper("a", 2)`:                  `upper has too many arguments: Write upper(str).`,
		`lookup({ a = 1 }, "b")`:         `lookup has too few arguments: default is missing. Write lookup(inputMap, key, default).`,
		`min("a", 2)`:                    `Wrong argument of min: Argument numbers: a number is required. Write min(numbers, …).`,
		`min()`:                          `min has no result: Must pass at least one number. Write min(numbers, …).`,
		`element([], 0)`:                 `element has no result: Cannot use element function with an empty list`,
		`jsondecode("{")`:                `jsondecode has no result: The text ends too soon`,
		`parseint("zz", 10)`:             `Argument number: cannot parse "zz" as a base 10 integer.`,
		`max(3...)`:                      `What comes before the dots must be a list with a value`,
		`max(null...)`:                   `What comes before the dots must be a list with a value`,
		`file("nope")`:                   `Wrong argument of file: Argument path: there is no file nope.`,
		`[for x in [1]: upper(null)][0]`: `Wrong argument of upper`,
	} {
		_, ds := LoadFiles(map[string][]byte{"c.muster.hcl": []byte("campaign \"c\" {}\nvariable \"n\" {\n  type = string\n  default = null\n}\nphase \"a\" {\n job {\n  command = \"echo ${" + call + "}\"\n  resources { walltime = \"1m\" }\n }\n}\n")}, LoadOptions{})
		text := ds.Err()
		if len(ds) != 1 {
			t.Errorf("%s: %v", call, ds)
			continue
		}
		got := ds[0].Summary + ": " + ds[0].Detail
		for _, foreign := range []string{"function call", "parameter", "argument(s)", "Call to", "expanding", "EOF"} {
			if strings.Contains(got, foreign) {
				t.Errorf("%s: %q has %q", call, got, foreign)
			}
		}
		if !strings.Contains(got, want) || ds[0].Subject == nil {
			t.Errorf("%s: %q, not %q (%v)", call, got, want, text)
		}
	}
}
