package term

import (
	"errors"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain text\n\tas it is", "plain text\n\tas it is"},
		{"\x1b[2Jgone", "␛[2Jgone"},
		{"bell\x07", "bell␇"},
		{"del\x7f", "del␡"},
		{"c1\u009b31m", "c1\ufffd31m"},
		{"over\u202eride", "over\ufffdride"},
		{"bad\xffbyte", "bad\ufffdbyte"},
		{"größe ±…", "größe ±…"},
	} {
		t.Run(test.in, func(t *testing.T) {
			if got := Clean(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range CleanLine(s) {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q keeps %U", s, r)
			}
		}
	})
}

func TestTable(t *testing.T) {
	tab := Table{Indent: "  ", Align: []Align{Left, Right}}
	tab.Row("phase.größe", "1 of 2", "done")
	tab.Row("b", "100 of 200", "")
	want := "  phase.größe      1 of 2  done\n  b            100 of 200\n"
	if got := tab.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"abc": 3, "\x1b[31mabc\x1b[0m": 3, "⇡ push": 6, "▕█▌▏": 4, "日本": 4} {
		t.Run(in, func(t *testing.T) {
			if got := Width(in); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

func TestASCII(t *testing.T) {
	plain := Style{}
	for _, r := range plain.Text("± re-run … ⊘ blocked ⇡ push ▕██▌▏ 2 × ≤20m – a → b") {
		if r > 127 {
			t.Errorf("%U is not ASCII", r)
		}
	}
	if s := (Style{UTF8: true}).Text("±"); s != "±" {
		t.Errorf("UTF-8 text changed to %q", s)
	}
}

func TestPaint(t *testing.T) {
	if got := (Style{}).Paint(Red, "x"); got != "x" {
		t.Errorf("a stream without colour got %q", got)
	}
	if got := (Style{Color: true}).Paint(Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) { f.n++; return 0, errors.New("full") }

func TestLineWriterStopsAtTheFirstError(t *testing.T) {
	f := &failing{}
	w := &LineWriter{W: f}
	for range 3 {
		w.Write([]byte("x"))
	}
	if w.Err == nil || f.n != 1 {
		t.Errorf("wrote %d times, error %v", f.n, w.Err)
	}
}

func TestFit(t *testing.T) {
	if got := Fit(strings.Repeat("x", 200), 10); Width(got) != 10 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
}

// A word is never split: cut in two, a path cannot be copied.
func TestWrap(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"abcdefgh ij", 3, "abcdefgh|ij"},
		{"日本語 ab", 4, "日本語|ab"},
		{"日", 1, "日"},
		{"  ", 5, ""},
		{"fits", 4, "fits"},
		{"so type `muster apply -once`, later", 20, "so type `muster|apply -once`, later"}, // it alone is longer
		{"so type `muster apply -once`, later", 22, "so type|`muster apply -once`,|later"},
		{"type (`a b c`) or `d e`. Done", 10, "type|(`a b c`)|or `d e`.|Done"},
		{"`a b` `c d`", 9, "`a b`|`c d`"},
		{"one ` of a kind", 6, "one `|of a|kind"},
	} {
		t.Run(test.in, func(t *testing.T) {
			if got := strings.Join(Wrap(test.in, test.width), "|"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFold(t *testing.T) {
	text := "Interrupted: 46 of 400 jobs done, 319 left.\nTo continue:\n\n    muster apply -some-long-flag=value\n"
	want := "Interrupted: 46 of\n400 jobs done, 319\nleft.\nTo continue:\n\n    muster apply -some-long-flag=value\n"
	if got := Fold(text, 20); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJoin(t *testing.T) {
	if got := Join("; ", "", "a", "", "b"); got != "a; b" {
		t.Errorf("got %q", got)
	}
}
