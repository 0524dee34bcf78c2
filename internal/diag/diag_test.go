package diag

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/term"
)

const source = "campaign \"x\" {}\nphase \"teachers\" {\n      walltime = \"30h\"\n}\n"

func at(line, from, to int) *hcl.Range {
	start := 0
	for range line - 1 {
		start += strings.IndexByte(source[start:], '\n') + 1
	}
	return &hcl.Range{Filename: "c.muster.hcl", Start: hcl.Pos{Line: line, Column: from, Byte: start + from - 1}, End: hcl.Pos{Line: line, Column: to, Byte: start + to - 1}}
}

func sources(string) []byte { return []byte(source) }

func TestPrint(t *testing.T) {
	l := List{{
		Summary: "walltime is longer than the partition allows", In: `phase "teachers"`, Subject: at(3, 7, 23),
		Detail: "Partition aa100 of backend.slurm.alpine ends jobs at 24h. Add a checkpoint block, and the phase is run as two chained segments.",
		Values: []Value{{"var.n", "is 12"}},
	}}
	want := `Error: walltime is longer than the partition allows

  on c.muster.hcl line 3, in phase "teachers":
     3:       walltime = "30h"
        var.n is 12

Partition aa100 of backend.slurm.alpine ends jobs at 24h. Add a checkpoint block, and the phase is
run as two chained segments.

`
	var b strings.Builder
	if err := (Printer{Sources: sources}).Print(&b, l); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPrintCountsLikeWarnings(t *testing.T) {
	var l List
	for range 10 {
		l.Warnf("An axis is not read", "detail")
	}
	l.Errorf("Bad", "why")
	var b strings.Builder
	(Printer{}).Print(&b, l)
	if got := strings.Count(b.String(), "An axis is not read"); got != 4 {
		t.Errorf("shown %d times, want 3 and a count", got)
	}
	if !strings.Contains(b.String(), "and 7 more like it") || !strings.HasSuffix(b.String(), "and 7 more like it: An axis is not read\n\n") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestPrintBoundsHostileSource(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	d := Diagnostic{Summary: "s", Subject: &hcl.Range{Filename: "f", Start: hcl.Pos{Line: 1}, End: hcl.Pos{Line: 100000}}}
	var b strings.Builder
	(Printer{Sources: func(string) []byte { return []byte(strings.Repeat(long+"\n", 8)) }}).Print(&b, List{d})
	if b.Len() > 2000 {
		t.Errorf("a hostile file fills %d bytes of the screen", b.Len())
	}
}

func TestJSON(t *testing.T) {
	l := List{{Severity: Warning, Summary: "s", Detail: "d", In: `phase "teachers"`, Subject: at(3, 7, 23)}}
	b, err := json.Marshal(ToJSON(l, sources))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"severity":"warning","summary":"s","detail":"d","range":{"filename":"c.muster.hcl","start":{"line":3,"column":7,"byte":41},"end":{"line":3,"column":23,"byte":57}},"snippet":{"context":"phase \"teachers\"","code":"      walltime = \"30h\"","start_line":3,"highlight_start_offset":6,"highlight_end_offset":22,"values":[]}}]`
	if string(b) != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

func TestJSONOfAnImpossibleRange(t *testing.T) {
	r := hcl.Range{Filename: "f", Start: hcl.Pos{Line: 9, Byte: 900}, End: hcl.Pos{Line: 9, Byte: 100}}
	if j := ToJSON(List{{Subject: &r}}, sources); j[0].Snippet != nil {
		t.Errorf("got a snippet %v", j[0].Snippet)
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"seed", "walltime", "memory"}
	for given, want := range map[string]string{"seeds": "seed", "waltime": "walltime", "memroy": "memory", "x": "", "completely": ""} {
		t.Run(given, func(t *testing.T) {
			if got := Suggest(given, names); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestErr(t *testing.T) {
	var l List
	l.Warnf("w", "d")
	if l.Err() != nil || l.HasErrors() {
		t.Error("a warning is no error")
	}
	l.Errorf("Bad thing", "because %d", 3)
	if err := l.Err(); err == nil || err.Error() != "Bad thing: because 3" {
		t.Errorf("got %v", err)
	}
}

// TestBusyLines: a line with many parts is shown around the place at fault,
// which is pointed at, within the width.
func TestBusyLines(t *testing.T) {
	long := "\tcommand = \"" + strings.Repeat("${var.x} ", 30) + "é ${HOME} " + strings.Repeat("y ", 60) + "\"\r\n"
	for _, c := range []struct {
		name, line, at string
		text, mark     string
	}{
		{"short", "\tcpus = \"four\"\r\n", "\"four\"", "\tcpus = \"four\"", ""},
		{"busy", "\tcommand = \"python train.py --seed ${cell.sed} --steps ${param.steps}\"\n", "cell.sed",
			"\tcommand = \"python train.py --seed ${cell.sed} --steps ${param.steps}\"", "\t" + strings.Repeat(" ", 36) + "^^^^^^^^"},
		{"far", long, "HOME", "… é ${HOME} y ", "^^^^"},
		{"wide", long, "command = \"" + strings.Repeat("${var.x} ", 30), "\tcommand", "\t^^^^"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := strings.Index(c.line, c.at)
			r := &hcl.Range{Start: hcl.Pos{Line: 1, Byte: from}, End: hcl.Pos{Line: 1, Byte: from + len(c.at)}}
			for _, width := range []int{40, 80, 0, 1} {
				p := Printer{Sources: func(string) []byte { return []byte(c.line) }, Width: width}
				got := p.excerpt(r)
				if len(got) != 1 {
					t.Fatalf("%d lines", len(got))
				}
				for _, s := range []string{got[0].text, got[0].mark} {
					if n := len([]rune(s)); n > max(20, p.width()-8) && n > busy {
						t.Errorf("width %d: %d characters: %s", width, n, s)
					}
				}
				if width == 0 && c.name != "far" && (!strings.HasPrefix(got[0].text, c.text) || !strings.HasPrefix(got[0].mark, c.mark)) {
					t.Errorf("got\n%q\n%q, want\n%q\n%q", got[0].text, got[0].mark, c.text, c.mark)
				}
				text, mark := []rune(got[0].text), []rune(got[0].mark)
				if c.name == "far" && string(text[strings.Count(got[0].mark, " "):][:len(mark)-strings.Count(got[0].mark, " ")]) != "HOME" {
					t.Errorf("width %d points elsewhere:\n%s\n%s", width, got[0].text, got[0].mark)
				}
			}
		})
	}
}

// TestThePlaceBehindWideCharacters: what points at a place is under it, also where
// the characters before it take two columns or none, or are cleaned.
func TestThePlaceBehindWideCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, at, under string }{
		{"\tdescription = \"汉字の実験 ", "${nope}", "\t" + strings.Repeat(" ", 26)},
		{"\tdescription = \"Ru\u0308ckfall ", "${nope}", "\t" + strings.Repeat(" ", 24)},
		{"\tdescription = \"\x1b[1m ", "${nope}", "\t" + strings.Repeat(" ", 20)},
		{"\tdescription = \"", "汉字", "\t" + strings.Repeat(" ", 15)},
	} {
		line := c.before + c.at + strings.Repeat(" z", 30) + "\"\n"
		r := &hcl.Range{Start: hcl.Pos{Line: 1, Byte: len(c.before)}, End: hcl.Pos{Line: 1, Byte: len(c.before) + len(c.at)}}
		got := Printer{Sources: func(string) []byte { return []byte(line) }, Clean: term.Clean}.excerpt(r)
		if want := c.under + strings.Repeat("^", term.Width(c.at)); len(got) != 1 || got[0].mark != want {
			t.Errorf("%q:\n%+v, want\n%q", line, got, want)
		}
	}
	r := &hcl.Range{Start: hcl.Pos{Line: 1, Byte: 150}, End: hcl.Pos{Line: 1, Byte: 154}}
	got := Printer{Sources: func(string) []byte { return []byte(strings.Repeat("字", 50) + "nope" + strings.Repeat("字", 50)) }, Width: 80}.excerpt(r)[0]
	if at := strings.Index(got.text, "nope"); term.Width(got.text) > 72 || at < 0 || term.Width(got.text[:at]) != strings.Index(got.mark, "^^^^") {
		t.Errorf("cut:\n%s\n%s", got.text, got.mark)
	}
}

// TestCommandsAreNotFolded: text in backticks is to be copied, and stays on one line if the
// line is wide enough.
func TestCommandsAreNotFolded(t *testing.T) {
	const width = 30
	for detail, want := range map[string]string{
		"To go on where it was, type `muster apply -once` again.":     "To go on where it was, type\n`muster apply -once` again.",
		"Type `muster apply -a -b -c -d -e -f -g -h -i` again.":       "Type `muster apply -a -b -c -d\n-e -f -g -h -i` again.",
		"One ` of a kind folds like all the others on the next line.": "One ` of a kind folds like all\nthe others on the next line.",
	} {
		var b strings.Builder
		err := Printer{Width: width}.Print(&b, List{{Summary: "s", Detail: detail}})
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}
