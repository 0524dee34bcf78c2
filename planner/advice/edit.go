package advice

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
)

// An Edit is one line of the campaign and its replacement. A value that depends on the cell
// has no line that is right for all: After is "" then, and Value says what it should be there.
// Before is "" for lines to add below that one.
type Edit struct {
	File   string
	Line   int // 0 where nothing is to be edited
	Before string
	After  string
	Value  string
}

// An editor makes edits of a campaign's files, by name.
type editor struct{ files map[string]*hcl.File }

// edit replaces the value at a range.
func (ed editor) edit(at hcl.Range, value string) Edit {
	e := Edit{File: at.Filename, Line: at.Start.Line, Value: value}
	src := ed.source(at.Filename)
	if at.End.Byte > len(src) || at.Start.Byte > at.End.Byte {
		return e
	}
	from := strings.LastIndexByte(src[:at.Start.Byte], '\n') + 1
	to := len(src)
	if i := strings.IndexByte(src[at.End.Byte:], '\n'); i >= 0 {
		to = at.End.Byte + i
	}
	e.Before = strings.TrimSpace(src[from:to])
	if plain(src[at.Start.Byte:at.End.Byte]) {
		e.After = strings.TrimSpace(src[from:at.Start.Byte] + value + src[at.End.Byte:to])
	}
	return e
}

// whole is edit for a value that is written as more than itself, such as a map.
func (ed editor) whole(at hcl.Range, value string) Edit {
	e := ed.edit(at, value)
	if old := ed.text(at); strings.Count(e.Before, old) == 1 {
		e.After = strings.Replace(e.Before, old, value, 1)
	}
	return e
}

// asked is the edit of a phase's request; where there is none, the line to add
// to its resources.
func (ed editor) asked(g *group, name, value string) Edit {
	if at, ok := g.phase.Asks[name]; ok {
		return ed.edit(at, value)
	}
	if e, ok := ed.into(g.phase, name+" = "+value, "job", "resources"); ok {
		e.Value = value
		return e
	}
	if e, ok := ed.into(g.phase, "resources { "+name+" = "+value+" }", "job"); ok {
		e.Value = value
		return e
	}
	return ed.add(g.phase, name+" = "+value)
}

// into is a line to add to a block below a phase, right below the line on which it
// begins. A block on one line is taken apart.
func (ed editor) into(p *lang.Phase, line string, path ...string) (Edit, bool) {
	b, ok := ed.find(p, path...)
	if !ok {
		return Edit{}, false
	}
	at, open, end := b.TypeRange, b.OpenBraceRange, b.CloseBraceRange
	e := Edit{File: at.Filename, Line: at.Start.Line, After: line, Value: line}
	if open.Start.Line != end.End.Line {
		return e, true
	}
	inner := ed.text(hcl.Range{Filename: at.Filename, Start: open.End, End: end.Start})
	head, tail, _ := strings.Cut(ed.edit(hcl.RangeBetween(at, end), "").Before, inner+"}")
	e.Before, e.After = head+inner+"}"+tail, head+"\n"
	for _, l := range []string{strings.TrimSpace(inner), line} {
		if l != "" {
			e.After += "  " + l + "\n"
		}
	}
	e.After += "}" + tail
	return e, true
}

// add is a line to add to a phase.
func (ed editor) add(p *lang.Phase, line string) Edit {
	return Edit{File: p.Range.Filename, Line: p.Range.Start.Line, After: line, Value: line}
}

func (ed editor) source(file string) string {
	if f := ed.files[file]; f != nil {
		return string(f.Bytes)
	}
	return ""
}

// plain reports whether a value is written as itself, so that another can
// stand in its place.
func plain(text string) bool {
	return !strings.ContainsAny(text, "${(?") && (strings.HasPrefix(text, `"`) || strings.Trim(text, "0123456789.") == "" || strings.HasPrefix(text, "["))
}

// body is the body of a phase as it is written, nil where it is not native
// syntax.
func (ed editor) body(p *lang.Phase) *hclsyntax.Body {
	f := ed.files[p.Range.Filename]
	if f == nil {
		return nil
	}
	root, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	for _, b := range root.Blocks {
		if b.Type == "phase" && len(b.Labels) == 1 && b.Labels[0] == p.Name {
			return b.Body
		}
	}
	return nil
}

// find is a block below a phase. A name with a space is a type and a label.
func (ed editor) find(p *lang.Phase, path ...string) (found *hclsyntax.Block, ok bool) {
	body := ed.body(p)
	for _, name := range path {
		if body == nil {
			return nil, false
		}
		typ, label, _ := strings.Cut(name, " ")
		i := slices.IndexFunc(body.Blocks, func(b *hclsyntax.Block) bool {
			return b.Type == typ && (label == "" || len(b.Labels) == 1 && b.Labels[0] == label)
		})
		if i < 0 {
			return nil, false
		}
		found, body = body.Blocks[i], body.Blocks[i].Body
	}
	return found, found != nil
}

// attr is the range of the value of an attribute of a block.
func (ed editor) attr(p *lang.Phase, name string, path ...string) (hcl.Range, bool) {
	b, ok := ed.find(p, path...)
	if !ok || b.Body.Attributes[name] == nil {
		return hcl.Range{}, false
	}
	return b.Body.Attributes[name].Expr.Range(), true
}

// quoted is a value as HCL text.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

// sizeLike rounds a size up to a whole number of the unit that the old value
// is written in, or of a smaller one where little of that is left.
func sizeLike(bytes float64, old string) string {
	unit := strings.TrimLeft(strings.Trim(old, `" `), "0123456789. ")
	for _, u := range smaller(unit) {
		n, err := units.ParseSize("1" + u)
		if err != nil {
			continue
		}
		if v := math.Ceil(bytes/float64(n) - 1e-9); v >= 4 || u == "MiB" || u == "MB" || u == "B" {
			return fmt.Sprintf("%.0f%s", v, u)
		}
	}
	return units.FormatSize(int64(math.Ceil(bytes)))
}

// smaller are units of a kind from one on downwards.
func smaller(unit string) []string {
	for _, all := range [][]string{{"PiB", "TiB", "GiB", "MiB"}, {"PB", "TB", "GB", "MB"}} {
		for i, u := range all {
			if u == unit {
				return all[i:]
			}
		}
	}
	if unit == "B" || unit == "kB" || unit == "KB" || unit == "KiB" {
		return []string{"B"}
	}
	return []string{"GiB", "MiB"}
}

// timeLike rounds a time up to one that people would write.
func timeLike(d time.Duration) time.Duration {
	step := time.Hour
	switch {
	case d <= time.Hour:
		step = 5 * time.Minute
	case d <= 8*time.Hour:
		step = 30 * time.Minute
	}
	return (d + step - 1) / step * step
}

// sizeText is how a size is written that a phase asks for: as in the campaign
// where it is written there, else as it is printed.
func (ed editor) sizeText(g *group, name string, asked float64) string {
	if text := ed.old(g, name); plain(text) {
		return text
	}
	return units.FormatSize(int64(asked))
}

// old is the text of a phase's request.
func (ed editor) old(g *group, name string) string {
	at, ok := g.phase.Asks[name]
	if !ok {
		return ""
	}
	return ed.text(at)
}

// text is the source text of a range, "" where there is none.
func (ed editor) text(at hcl.Range) string {
	src := ed.source(at.Filename)
	if at.End.Byte > len(src) || at.Start.Byte > at.End.Byte {
		return ""
	}
	return src[at.Start.Byte:at.End.Byte]
}
