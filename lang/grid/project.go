package grid

import (
	"math/bits"
	"slices"
)

// A Projection numbers the combinations of some axes that cells have.
type Projection struct {
	g     *Grid
	axes  []int
	fact  []uint64 // weight of each axis in a code of the combination
	n     int
	ids   []int32 // code to combination, -1 for none; nil: a code is a combination
	cells []int32 // cell to combination, where codes would be too many
	first []int32 // a combination's least cell; nil: by arithmetic
}

// Project numbers the combinations of the given axes, in canonical order of
// their values. Only combinations that some cell has are counted.
func (g *Grid) Project(axes []int) Projection {
	p := Projection{g: g, axes: slices.Clone(axes), fact: make([]uint64, len(axes))}
	total, fits := uint64(1), true
	for k := len(axes) - 1; k >= 0; k-- {
		p.fact[k] = total
		hi, lo := bits.Mul64(total, uint64(len(g.Axes[axes[k]].Values)))
		total, fits = lo, fits && hi == 0
	}
	switch {
	case g.dense():
		p.n = int(total)
		if g.n == 0 {
			p.n = 0
		}
	case fits && total <= uint64(max(2*g.n, 1<<16)):
		p.byCode(int(total))
	default:
		p.byCell()
	}
	return p
}

func (p *Projection) code(i int) (c uint64) {
	for k, a := range p.axes {
		c += uint64(p.g.Coord(i, a)) * p.fact[k]
	}
	return c
}

// byCode finds which of total combinations exist.
func (p *Projection) byCode(total int) {
	p.ids = make([]int32, total)
	least := make([]int32, total)
	for i := p.g.n - 1; i >= 0; i-- {
		c := p.code(i)
		p.ids[c], least[c] = 1, int32(i)
	}
	for c, seen := range p.ids {
		if seen == 0 {
			p.ids[c] = -1
			continue
		}
		p.ids[c] = int32(p.n)
		p.first = append(p.first, least[c])
		p.n++
	}
}

// byCell sorts the cells by their combination and numbers the runs.
func (p *Projection) byCell() {
	order := make([]int32, p.g.n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return p.compare(int(x), int(y)) })
	p.cells = make([]int32, p.g.n)
	for k, i := range order {
		if k == 0 || p.compare(int(order[k-1]), int(i)) != 0 {
			p.first = append(p.first, i)
			p.n++
		}
		p.cells[i] = int32(p.n - 1)
	}
}

func (p *Projection) compare(x, y int) int {
	for _, a := range p.axes {
		if d := p.g.Coord(x, a) - p.g.Coord(y, a); d != 0 {
			return d
		}
	}
	return 0
}

// Len is the number of combinations.
func (p *Projection) Len() int { return p.n }

// Of is the combination of cell i.
func (p *Projection) Of(i int) int {
	switch {
	case p.cells != nil:
		return int(p.cells[i])
	case p.ids != nil:
		return int(p.ids[p.code(i)])
	}
	return int(p.code(i))
}

// First is the least cell with a combination.
func (p *Projection) First(combo int) int {
	if p.first != nil {
		return int(p.first[combo])
	}
	var cell uint64
	for k, a := range p.axes {
		cell += uint64(p.Coord(combo, k)) * p.g.stride[a]
	}
	return int(cell)
}

// Coord is the value index of the k-th projected axis in a combination.
func (p *Projection) Coord(combo, k int) int {
	if p.first != nil {
		return p.g.Coord(int(p.first[combo]), p.axes[k])
	}
	c := uint64(combo)
	if k > 0 {
		c %= p.fact[k-1]
	}
	return int(c / p.fact[k])
}

// Find is the combination with the given value indices, one per axis.
func (p *Projection) Find(coord []int) (int, bool) {
	if p.cells != nil {
		return slices.BinarySearchFunc(p.first, coord, func(cell int32, want []int) int {
			for k, a := range p.axes {
				if d := p.g.Coord(int(cell), a) - want[k]; d != 0 {
					return d
				}
			}
			return 0
		})
	}
	var c uint64
	for k, v := range coord {
		c += uint64(v) * p.fact[k]
	}
	if p.ids != nil {
		return int(p.ids[c]), p.ids[c] >= 0
	}
	return int(c), p.n > 0
}
