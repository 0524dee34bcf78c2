package command

import (
	"flag"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args, positional string
		f                bool
		n                int
	}{
		{"-f a", "a", true, 0},
		{"a -f", "a", true, 0},
		{"a -n 3 b --f", "a b", true, 3},
		{"-n=3 -- -f", "-f", false, 3},
		{"a -- b -f", "a b -f", false, 0},
		{"-", "-", false, 0},
	} {
		t.Run(test.args, func(t *testing.T) {
			fs := flag.NewFlagSet("x", flag.ContinueOnError)
			f, n := fs.Bool("f", false, ""), fs.Int("n", 0, "")
			got, err := parse(fs, strings.Fields(test.args))
			if err != nil || strings.Join(got, " ") != test.positional || *f != test.f || *n != test.n {
				t.Errorf("got %q, f %v, n %d, %v", got, *f, *n, err)
			}
		})
	}
}
