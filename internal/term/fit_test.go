package term

import "testing"

func TestFitMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{{"abcdefgh", 8, "abcdefgh"}, {"abcdefgh", 7, "abc…fgh"}, {"abcdefgh", 4, "a…gh"}, {"日本語日本語", 7, "日…本語"}, {"日本語日本語", 8, "日…本語"}, {"abc", 2, "a…"}} {
		got := FitMiddle(c.s, c.width)
		if got != c.want || Width(got) > c.width {
			t.Errorf("%q in %d: %q, want %q", c.s, c.width, got, c.want)
		}
	}
}
