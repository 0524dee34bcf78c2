package view

import (
	"strings"

	"github.com/muster-run/muster/internal/term"
)

// A line of the phase table: label, amount, shape and remark.
type line struct {
	label, amount, shape, note string
	phase                      bool
}

// layout lines the table up: amounts stand so that the digits of counts end
// in one column, below the first letter of a phase's own amount.
func (h Human) layout(lines []line) string {
	for i := range lines {
		lines[i] = h.shown(lines[i])
		lines[i].label = h.named(lines[i].label)
	}
	label, digits, amounts, shapes := 0, 0, 0, 0
	for _, l := range lines {
		label = max(label, term.Width(l.label))
		if !l.phase {
			digits = max(digits, digitWidth(l.amount))
		}
	}
	at := label + 3
	for i := range lines {
		l := &lines[i]
		if !l.phase && l.amount != "" {
			l.amount = strings.Repeat(" ", max(0, 1-digitWidth(l.amount))) + l.amount
		}
		amounts = max(amounts, term.Width(l.amount)-overhang(*l))
		if !l.phase && l.note != "" {
			shapes = max(shapes, term.Width(l.shape))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		s := l.label + strings.Repeat(" ", max(1, at-overhang(l)-term.Width(l.label))) + l.amount
		s += strings.Repeat(" ", max(2, at+amounts+2-term.Width(s))) + l.shape
		if l.note == "" {
			b.WriteString(h.fit("  " + s))
			continue
		}
		beside := "  " + s
		switch {
		case l.phase:
			beside += "   "
		case shapes > 0:
			beside += strings.Repeat(" ", max(0, at+amounts+2+shapes-term.Width(s))) + "   "
		default:
			beside += strings.Repeat(" ", max(0, at+amounts+2-term.Width(s)))
		}
		b.WriteString(h.remark("  "+s, beside, l.note))
	}
	return b.String()
}

const (
	leastRemark = 36 // columns in which a remark is folded beside its row
	belowIndent = 8  // else it is below
	remarkLines = 4  // of one remark; the last is cut to the screen
)

// remark prints a row and its remark: on one line where it fits, else folded
// in the remark's column, or below the row where that is too narrow.
func (h Human) remark(row, beside, note string) string {
	if term.Width(beside+note) <= h.width() {
		return h.fit(beside + note)
	}
	at := term.Width(beside)
	var b strings.Builder
	if at+leastRemark > h.width() {
		b.WriteString(h.fit(row))
		at, beside = belowIndent, strings.Repeat(" ", belowIndent)
	}
	folded := term.Wrap(note, h.width()-at)
	for i, text := range folded {
		if i == remarkLines-1 && !h.Verbose {
			b.WriteString(h.fit(beside + strings.Join(folded[i:], " ")))
			break
		}
		b.WriteString(h.fit(beside + text))
		beside = strings.Repeat(" ", at)
	}
	return b.String()
}

// shown is a line in the symbols of the terminal, so that its columns line up there, and
// without control characters.
func (h Human) shown(l line) line {
	for _, s := range []*string{&l.label, &l.amount, &l.shape, &l.note} {
		*s = h.Style.Text(term.CleanLine(*s))
	}
	return l
}

// mostName is how many columns a name takes that begins a row; the text
// behind a longer one is worth more than its end, which JSON has.
const mostName = 44

// named is a name that begins a row, cut where it is too long.
func (h Human) named(name string) string {
	if term.Width(name) <= mostName {
		return name
	}
	return h.Style.Text(term.Fit(name, mostName-len("...")+1))
}

// fit cuts a line to the screen.
func (h Human) fit(s string) string {
	s, width := h.Style.Text(s), h.width()
	if !h.Style.UTF8 && term.Width(s) > width {
		width -= 2 // the ellipsis takes three columns
	}
	return strings.TrimRight(h.Style.Text(term.Fit(s, width)), " ") + "\n"
}

// overhang is how far an amount begins left of its column, so that the
// last digit of its count is in it.
func overhang(l line) int {
	if l.phase {
		return 0
	}
	return max(0, digitWidth(l.amount)-1)
}

func digitWidth(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == ',') {
		n++
	}
	return n
}
