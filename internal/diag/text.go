package diag

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/mitchellh/go-wordwrap"
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

// Print writes the list, errors last so that they stand above the prompt.
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
	}
	for _, v := range d.Values {
		fmt.Fprintf(w, "        %s %s\n", p.clean(v.Traversal), p.clean(v.Statement))
	}
}

type numbered struct {
	n    int
	text string
}

// excerptLines and excerptWidth bound what is shown of the source: a hostile
// line of megabytes must not fill the terminal.
const (
	excerptLines = 4
	excerptWidth = 160
)

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
	for n, rest := 1, src; n <= last && len(rest) > 0; n++ {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		if n >= r.Start.Line {
			out = append(out, numbered{n, clip(strings.ToValidUTF8(string(line), "�"))})
		}
	}
	return out
}

func clip(s string) string {
	if r := []rune(s); len(r) > excerptWidth {
		return string(r[:excerptWidth]) + "…"
	}
	return s
}

// wrap folds paragraphs to the width and leaves indented lines alone.
func (p Printer) wrap(s string) string {
	width := p.Width
	if width <= 0 || width > 100 {
		width = 100
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "\t") {
			lines[i] = wordwrap.WrapString(l, uint(width))
		}
	}
	return strings.Join(lines, "\n")
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
