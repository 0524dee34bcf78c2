package verify

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func TestReadMetric(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, json, column, regex, data, want string }{
		{name: "pointer", json: "/final/loss", data: `{"final": {"loss": 1.50}}`, want: "1.50"},
		{name: "pointer to a large integer", json: "/n", data: `{"n": 12345678901234567890}`, want: "12345678901234567890"},
		{name: "pointer through a list", json: "/a/1", data: `{"a": [1, "x"]}`, want: `"x"`},
		{name: "pointer with escapes", json: "/a~1b/~0", data: `{"a/b": {"~": true}}`, want: "true"},
		{name: "pointer to the whole", json: "", data: " [1, 2]\n", want: "[1,2]"},
		{name: "pointer to an empty name", json: "/", data: `{"": 7}`, want: "7"},
		{name: "pointer beyond", json: "/final/acc", data: `{"final": {"loss": 1}}`, want: `error: json: there is no member "acc" in /final`},
		{name: "pointer past a list", json: "/a/2", data: `{"a": [1, 2]}`, want: `error: json: there is no element "2" among 2 in /a`},
		{name: "pointer with a leading zero", json: "/a/01", data: `{"a": [1, 2]}`, want: `error: json: there is no element "01"`},
		{name: "pointer into a number", json: "/a/b", data: `{"a": 1}`, want: `error: json: there is no "b": a single value is in /a`},
		{name: "pointer without a slash", json: "a", data: `{}`, want: "error: json: \"a\" is not a JSON pointer"},
		{name: "pointer into cut JSON", json: "/a", data: `{"a": 1`, want: "error: json: the file is not JSON"},
		{name: "Python's NaN", json: "/loss", data: `{"loss": NaN, "s": "NaN \" NaN"}`, want: "error: the value is NaN, which is not a number"},
		{name: "Python's infinity", json: "/loss", data: `{"loss": -Infinity}`, want: "error: the value is -Infinity"},
		{name: "beside Python's NaN", json: "/s", data: `{"loss": NaN, "s": "NaN \" NaN"}`, want: `"NaN \" NaN"`},
		{name: "around Python's NaN", json: "", data: `{"loss": NaN}`, want: "error: the value holds NaN"},
		{name: "column", column: "loss", data: "step,loss\n1,0.5\n2,0.25\n", want: "0.25"},
		{name: "column of text", column: "who", data: "step,who\n1, ann \n", want: `"ann"`},
		{name: "column that is not there", column: "acc", data: "step,loss\n1,2\n", want: `error: column: there is no "acc" among step, loss`},
		{name: "column without rows", column: "loss", data: "step,loss\n", want: "error: column: there is no row below the header"},
		{name: "column of nan", column: "loss", data: "loss\nnan\n", want: "error: the value is nan, which is not a number"},
		{name: "column of inf", column: "loss", data: "loss\n-inf\n", want: "error: the value is -inf"},
		{name: "column of .5", column: "loss", data: "loss\n.5\n", want: "0.5"},
		{name: "column of 1e-05", column: "loss", data: "loss\n1e-05\n", want: "1e-05"},
		{name: "column of 007", column: "loss", data: "loss\n007\n", want: "7"},
		{name: "regex", regex: `loss=(\S+)`, data: "loss=3\nloss=2 x\n", want: "2"},
		{name: "regex without a group", regex: `\d+$`, data: "a 1\nb 22\n", want: "22"},
		{name: "regex at line starts", regex: `^(\w)`, data: "ab\ncd\n", want: `"c"`},
		{name: "regex whose group is out", regex: `x|(y)`, data: "y x", want: "error: regex: its first group is not in the match"},
		{name: "regex without a match", regex: `z`, data: "y x", want: "error: regex: nothing in the file matches"},
		{name: "regex that is none", regex: `(`, data: "y x", want: "error: regex: error parsing regexp"},
		{name: "too much", json: "", data: `"` + strings.Repeat("x", maxMetric) + `"`, want: "error: the value has "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := put(t, dir, "a", []byte(c.data))
			out := Check(t.Context(), dir, providers.Output{Name: "o", Kind: "path", Path: "a"})
			got := ReadMetric(providers.Metric{Name: "m", Output: "o", JSON: c.json, Column: c.column, Regex: c.regex}, out, path)
			text := got.Text
			if got.Error != "" {
				text = "error: " + got.Error
			}
			if text != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(text, c.want)) {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// TestMetricOfWhatDidNotPass reads nothing from a file that is not the one
// that was checked.
func TestMetricOfWhatDidNotPass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := put(t, dir, "a", []byte(`{"loss": 1}`))
	m := providers.Metric{Name: "m", Output: "o", JSON: "/loss"}
	if got := ReadMetric(m, offer.Output{Name: "o"}, path); got.Error != `output "o" did not pass` {
		t.Errorf("%+v", got)
	}
	out := Check(t.Context(), dir, providers.Output{Name: "o", Kind: "path", Path: "a"})
	put(t, dir, "a", []byte(`{"loss": 10}`))
	if got := ReadMetric(m, out, path); got.Error == "" {
		t.Errorf("of a file written since: %+v", got)
	}
	out = Check(t.Context(), dir, providers.Output{Name: "o", Kind: "glob", Path: "a*"})
	if got := ReadMetric(m, out, path); got.Error == "" {
		t.Errorf("of a set: %+v", got)
	}
}
