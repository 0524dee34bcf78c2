package diag

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/mitchellh/go-wordwrap"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
)

// Sources gives the bytes of a file by the name in a range, for excerpts.
type Sources func(filename string) []byte

// HCLSources reads excerpts from parsed files.
func HCLSources(files map[string]*hcl.File) Sources {
	return func(name string) []byte {
		if f := files[name]; f != nil {
			return f.Bytes
		}
		return nil
	}
}

// A Printer writes diagnostics for people.
type Printer struct {
	Sources Sources
	Width   int                           // columns; 0 = 100
	Paint   func(Severity, string) string // colours the heading; nil = plain
	Clean   func(string) string           // replaces control characters; nil = as is
}

// sameLimit is how many warnings with one summary are shown in full; the rest
// are counted.
const sameLimit = 3

// Print writes the list, errors last, next to the prompt.
func (p Printer) Print(w io.Writer, l List) error {
	bw := bufio.NewWriter(w)
	seen := map[string]int{}
	for _, sev := range []Severity{Warning, Error} {
		for _, d := range l {
			if d.Severity != sev {
				continue
			}
			if seen[d.Summary]++; sev == Warning && seen[d.Summary] > sameLimit {
				continue
			}
			p.one(bw, d)
		}
	}
	for _, d := range l {
		if n := seen[d.Summary]; d.Severity == Warning && n > sameLimit {
			fmt.Fprintf(bw, "%s and %d more like it: %s\n\n", p.paint(Warning, "Warning:"), n-sameLimit, p.clean(d.Summary))
			seen[d.Summary] = 0
		}
	}
	return bw.Flush()
}

func (p Printer) one(w io.Writer, d Diagnostic) {
	head := "Error:"
	if d.Severity == Warning {
		head = "Warning:"
	}
	fmt.Fprintf(w, "%s %s\n", p.paint(d.Severity, head), p.clean(d.Summary))
	p.place(w, d)
	if d.Detail != "" {
		fmt.Fprintf(w, "\n%s\n", p.wrap(p.clean(d.Detail)))
	}
	fmt.Fprintln(w)
}

func (p Printer) place(w io.Writer, d Diagnostic) {
	if d.Subject == nil {
		if where := firstNonEmpty(d.In, d.Address); where != "" {
			fmt.Fprintf(w, "\n  in %s\n", p.clean(where))
		}
		return
	}
	in := ""
	if d.In != "" {
		in = ", in " + d.In
	}
	fmt.Fprintf(w, "\n  on %s line %d%s:\n", p.clean(d.Subject.Filename), d.Subject.Start.Line, p.clean(in))
	for _, line := range p.excerpt(d.Subject) {
		fmt.Fprintf(w, "  %4d: %s\n", line.n, p.clean(line.text))
		if line.mark != "" {
			fmt.Fprintf(w, "        %s\n", line.mark)
		}
	}
	for _, v := range d.Values {
		fmt.Fprintf(w, "        %s %s\n", p.clean(v.Traversal), p.clean(v.Statement))
	}
}

// A numbered line of the source; mark points at the place under it.
type numbered struct {
	n          int
	text, mark string
}

// excerptLines bounds the shown part of the source, and so does the width: a hostile line of
// megabytes must not fill the terminal.
const excerptLines = 4

func (p Printer) excerpt(r *hcl.Range) []numbered {
	if p.Sources == nil {
		return nil
	}
	src := p.Sources(r.Filename)
	if src == nil {
		return nil
	}
	last := min(r.End.Line, r.Start.Line+excerptLines-1)
	if r.End.Line > r.Start.Line && r.End.Column <= 1 {
		last = min(last, r.End.Line-1)
	}
	var out []numbered
	for n, from := 1, 0; n <= last && from < len(src); n++ {
		line := src[from:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if n >= r.Start.Line {
			first, end := 0, 0 // the place, in this line
			if n == r.Start.Line && last == n {
				first, end = r.Start.Byte-from, r.End.Byte-from
			}
			text, mark := p.pointed(bytes.TrimSuffix(line, []byte("\r")), first, end)
			out = append(out, numbered{n, text, mark})
		}
		from += len(line) + 1
	}
	return out
}

// busy is how many columns a line may have that shows by itself where its fault is.
const busy = 60

// pointed is the part of a line that holds the place from first to end, and,
// under a busy line, the mark that points at it.
func (p Printer) pointed(line []byte, first, end int) (text, mark string) {
	const number = len("  1234: ")
	width := max(20, p.width()-number)
	if first < 0 || end > len(line) || first >= end {
		return clip(p.shown(line), width), ""
	}
	before, at, after := p.shown(line[:first]), p.shown(line[first:end]), p.shown(line[end:])
	all := columns(before + at + after)
	if all <= busy {
		return before + at + after, ""
	}
	if all > width && columns(before)+min(columns(at), width/3) > width-1 {
		before = p.clean("…") + lastColumns(before, width/3)
	}
	text = clip(before+at+after, width)
	return text, blank(before) + strings.Repeat("^", min(columns(at), columns(text)-columns(before)))
}

// shown is a part of a line as the stream shows it: only its width there counts.
func (p Printer) shown(part []byte) string { return p.clean(strings.ToValidUTF8(string(part), "�")) }

// columns is how many columns a text takes, a tab one.
func columns(s string) int { return term.Width(s) + strings.Count(s, "\t") }

// lastColumns is the end of a text, of so many columns at most.
func lastColumns(s string, most int) string {
	from, n := len(s), 0
	for from > 0 {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		if n += columns(s[from-size : from]); n > most {
			break
		}
		from -= size
	}
	return s[from:]
}

// blank is as wide as a text, with its tabs.
func blank(s string) string {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		parts[i] = strings.Repeat(" ", term.Width(part))
	}
	return strings.Join(parts, "\t")
}

func clip(s string, width int) string { return term.Fit(s, max(1, width-strings.Count(s, "\t"))) }

// wrap folds paragraphs to the width and leaves indented lines alone.
func (p Printer) wrap(s string) string {
	width := p.width()
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "\t") {
			lines[i] = strings.ReplaceAll(wordwrap.WrapString(together(l, width), uint(width)), unfolded, " ")
		}
	}
	return strings.Join(lines, "\n")
}

// unfolded is a space at which no line is folded.
const unfolded = "\u00a0"

var backticks = lazyregexp.New("`[^`]*`")

// together keeps text in backticks, a command to be copied, on one line, unless
// it is longer than a line.
func together(s string, width int) string {
	return backticks.ReplaceAllStringFunc(s, func(command string) string {
		if utf8.RuneCountInString(command) > width {
			return command
		}
		return strings.ReplaceAll(command, " ", unfolded)
	})
}

func (p Printer) width() int {
	const most = 100
	if p.Width <= 0 || p.Width > most {
		return most
	}
	return p.Width
}

func (p Printer) paint(s Severity, text string) string {
	if p.Paint == nil {
		return text
	}
	return p.Paint(s, text)
}

func (p Printer) clean(s string) string {
	if p.Clean == nil {
		return s
	}
	return p.Clean(s)
}

func firstNonEmpty(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}
