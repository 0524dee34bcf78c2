package term

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Align is the alignment of a column.
type Align int

// The alignments.
const (
	Left Align = iota
	Right
)

// A Table lines up columns by display width. The zero value is ready.
type Table struct {
	Indent string
	Gap    string // between columns; two spaces by default
	Align  []Align
	// Width is how many columns a row may take; 0 = as many as it needs. The longest
	// cells are shortened in their middle until it does.
	Width int
	rows  [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// String is the table with a newline after each row and no trailing spaces.
func (t *Table) String() string {
	gap := t.Gap
	if gap == "" {
		gap = "  "
	}
	widths := t.shrunk(t.widths(), Width(gap))
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, cell := range row {
			if i > 0 {
				line.WriteString(gap)
			}
			line.WriteString(pad(t.cell(cell, widths[i]), widths[i], i < len(t.Align) && t.Align[i] == Right))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// leastCell is how much of a cell is always shown, in columns.
const leastCell = 8

// shrunk are the widths of the columns so that a row fits.
func (t *Table) shrunk(widths []int, gap int) []int {
	if t.Width <= 0 || len(widths) == 0 {
		return widths
	}
	total := Width(t.Indent) + gap*(len(widths)-1)
	for _, w := range widths {
		total += w
	}
	for ; total > t.Width; total-- {
		longest := 0
		for i, w := range widths {
			if w > widths[longest] {
				longest = i
			}
		}
		if widths[longest] <= leastCell {
			break
		}
		widths[longest]--
	}
	return widths
}

func (t *Table) cell(s string, width int) string {
	if t.Width <= 0 || Width(s) <= width {
		return s
	}
	return FitMiddle(s, width)
}

func (t *Table) widths() []int {
	var w []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], Width(cell))
		}
	}
	return w
}

func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(0, width-Width(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// narrow measures as terminals outside East Asian locales do: the block and
// arrow symbols take one column.
var narrow = &runewidth.Condition{EastAsianWidth: false}

// Width is how many columns s takes, not counting colour codes.
func Width(s string) int {
	if strings.IndexByte(s, 0x1b) < 0 {
		return narrow.StringWidth(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '[' {
			if j := strings.IndexByte(s[i:], 'm'); j >= 0 {
				i += j + 1
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return narrow.StringWidth(b.String())
}

// Fit cuts s to width columns, ending in "…" when something was cut.
func Fit(s string, width int) string { return narrow.Truncate(s, width, "…") }

// FitMiddle cuts s to width columns and puts "…" into its middle: both ends tell it
// from others.
func FitMiddle(s string, width int) string {
	if Width(s) <= width || width < 3 {
		return Fit(s, width)
	}
	head := narrow.Truncate(s, (width-1)/2, "")
	tail := narrow.TruncateLeft(s, Width(s)-(width-1-Width(head)), "")
	return head + "…" + strings.TrimLeft(tail, " ") // which stand for half a wide rune
}
