package change

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
)

func fields(texts ...string) (out []lang.Field) {
	for _, t := range texts {
		name, text, _ := strings.Cut(t, "=")
		out = append(out, lang.Field{Name: name, Text: text})
	}
	return out
}

// TestFields: what differs, in order of the fields' names, in words.
func TestFields(t *testing.T) {
	for _, c := range []struct {
		old, now []lang.Field
		want     string
	}{
		{fields("command=x", "param.steps=1"), fields("param.steps=1", "command=x"), ""},
		{fields("param.steps=100"), fields("param.steps=200"), "param.steps: 100 → 200"},
		{fields("command=x"), fields("command=x", "env.A=1"), "env.A: now 1"},
		{fields("command=x", "env.A=1"), fields("command=x"), "env.A: was 1"},
		{fields("setup="), nil, "setup"},
		{fields("z=1", "b=2"), fields("a=3", "b=4"), "a: now 3, b: 2 → 4, z: was 1"},
	} {
		var got []string
		for _, r := range Fields(c.old, c.now) {
			got = append(got, r.Text())
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%v, %v: %q, not %q", c.old, c.now, text, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for digest, want := range map[string]string{"": "", "?": "?", "sha256:0123456789abcdef": "0123456789ab", "0123456789abcdef": "0123456789ab", "0123456789ab": "0123456789ab"} {
		if got := Short(digest); got != want {
			t.Errorf("%q: %q, not %q", digest, got, want)
		}
	}
}
