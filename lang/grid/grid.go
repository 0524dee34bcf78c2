// Package grid turns axes into cells. A cell is an index: a dense grid costs no
// memory per cell, a filtered one eight bytes. The cells and their order depend
// only on the names and values of the axes, never on the order in which they
// were written, and no grid is expanded before it is counted.
package grid

import (
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
)

// An Axis is a name and its values, sorted: numbers by value, then the rest
// by text.
type Axis struct {
	Name   string
	Values []Value
	At     hcl.Range // where its values are written; for messages
	Counts bool      // its values are written as range(…)
}

// A Grid is a set of cells in canonical order: by the values of the axis
// first by name, then of the next. The zero value has no cells; see Single.
type Grid struct {
	Axes   []Axis   // sorted by name
	Repeat []string // axes that are independent samples, sorted

	n      int
	stride []uint64            // per axis, in cells of the dense grid; nil when that has 2^63 or more
	codes  []uint64            // nil when dense or when rows is used
	rows   []uint32            // value indices, len(Axes) a cell: only where codes would overflow
	index  []map[string]uint32 // per axis: text to value
}

// Single is the grid of a phase without one: a single cell with the empty key.
func Single() *Grid { return &Grid{n: 1} }

// Len is the number of cells.
func (g *Grid) Len() int { return g.n }

// dense reports whether a cell's index is its code.
func (g *Grid) dense() bool { return g.codes == nil && g.rows == nil }

// Coord is the index among the axis's values that cell i has.
func (g *Grid) Coord(i, axis int) int {
	if g.rows != nil {
		return int(g.rows[i*len(g.Axes)+axis])
	}
	code := uint64(i)
	if g.codes != nil {
		code = g.codes[i]
	}
	if axis > 0 {
		code %= g.stride[axis-1]
	}
	return int(code / g.stride[axis])
}

// Value is the value that cell i has on an axis.
func (g *Grid) Value(i, axis int) *Value { return &g.Axes[axis].Values[g.Coord(i, axis)] }

// AxisIndex finds an axis by name; -1 if there is none.
func (g *Grid) AxisIndex(name string) int {
	return slices.IndexFunc(g.Axes, func(a Axis) bool { return a.Name == name })
}

// AxisNames lists the axes by name.
func (g *Grid) AxisNames() []string {
	names := make([]string, len(g.Axes))
	for i, a := range g.Axes {
		names[i] = a.Name
	}
	return names
}

// AppendKey appends the key of cell i, `N=384,seed=42`.
func (g *Grid) AppendKey(buf []byte, i int) []byte {
	for a := range g.Axes {
		if a > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, g.Axes[a].Name...)
		buf = append(buf, '=')
		buf = append(buf, g.Value(i, a).KeyText...)
	}
	return buf
}

// Key is the key of cell i; "" in the grid of one cell.
func (g *Grid) Key(i int) string { return string(g.AppendKey(nil, i)) }

// Ends are the least and the greatest cell, one of them when they are the same.
func (g *Grid) Ends() []int {
	switch g.n {
	case 0:
		return nil
	case 1:
		return []int{0}
	}
	return []int{0, g.n - 1}
}

// Index finds a cell by its key. The axes may come in any order.
func (g *Grid) Index(key string) (int, bool) {
	if len(g.Axes) == 0 {
		return 0, key == "" && g.n == 1
	}
	coord := make([]int, len(g.Axes))
	if !g.plainCoord(coord, key) {
		pairs, err := addr.ParseKey(key)
		if err != nil || len(pairs) != len(g.Axes) {
			return 0, false
		}
		for _, p := range pairs {
			a := g.AxisIndex(p.Axis)
			if a < 0 {
				return 0, false
			}
			v, ok := g.valueIndex(a, p.Text)
			if !ok {
				return 0, false
			}
			coord[a] = v
		}
	}
	return g.IndexOf(coord)
}

// plainCoord reads a canonical key without quotes, which most keys are.
func (g *Grid) plainCoord(coord []int, key string) bool {
	for a := range g.Axes {
		part, rest, _ := strings.Cut(key, ",")
		text, ok := strings.CutPrefix(part, g.Axes[a].Name)
		if !ok || len(text) < 2 || text[0] != '=' || text[1] == '"' {
			return false
		}
		if coord[a], ok = g.valueIndex(a, text[1:]); !ok {
			return false
		}
		key = rest
	}
	return key == ""
}

// ValueIndex finds a value of an axis by its text.
func (g *Grid) valueIndex(axis int, text string) (int, bool) {
	if g.index != nil {
		v, ok := g.index[axis][text]
		return int(v), ok
	}
	for i := range g.Axes[axis].Values {
		if g.Axes[axis].Values[i].Text == text {
			return i, true
		}
	}
	return 0, false
}

// IndexOf finds a cell by the indices of its values, one per axis.
func (g *Grid) IndexOf(coord []int) (int, bool) {
	for a, c := range coord {
		if c < 0 || c >= len(g.Axes[a].Values) {
			return 0, false
		}
	}
	if g.rows != nil {
		return g.findRow(coord)
	}
	var code uint64
	for a, c := range coord {
		code += uint64(c) * g.stride[a]
	}
	if g.codes == nil {
		return int(code), code < uint64(g.n)
	}
	return slices.BinarySearch(g.codes, code)
}

func (g *Grid) findRow(coord []int) (int, bool) {
	w := len(g.Axes)
	i := sort.Search(g.n, func(i int) bool { return compareRow(g.rows[i*w:(i+1)*w], coord) >= 0 })
	return i, i < g.n && compareRow(g.rows[i*w:(i+1)*w], coord) == 0
}

func compareRow(row []uint32, coord []int) int {
	for a, c := range coord {
		if d := int(row[a]) - c; d != 0 {
			return d
		}
	}
	return 0
}

// finish computes strides and, for long axes, the index from text to value.
func (g *Grid) finish() {
	const scanBelow = 8 // values; a scan of so few texts is as quick as a map
	total := big.NewInt(1)
	longest := 0
	for _, a := range g.Axes {
		total.Mul(total, big.NewInt(int64(len(a.Values))))
		longest = max(longest, len(a.Values))
	}
	if total.BitLen() <= 62 {
		g.stride = strides(g.Axes)
	}
	if longest <= scanBelow {
		return
	}
	g.index = make([]map[string]uint32, len(g.Axes))
	for a := range g.Axes {
		g.index[a] = make(map[string]uint32, len(g.Axes[a].Values))
		for i, v := range g.Axes[a].Values {
			g.index[a][v.Text] = uint32(i)
		}
	}
}

// strides are the weights of a mixed-radix code, the first axis the heaviest.
func strides(axes []Axis) []uint64 {
	s := make([]uint64, len(axes))
	w := uint64(1)
	for a := len(axes) - 1; a >= 0; a-- {
		s[a] = w
		w *= uint64(len(axes[a].Values))
	}
	return s
}
