package fit

import (
	"math"
	"slices"
)

// tiny is a sum of squares of logarithms that is none.
const tiny = 1e-12

// data are points of which those at the same place are one, with its weight.
type data struct {
	cells  []cell
	n      int
	within float64 // sum of squares of log t around the means of the cells
	total  float64 // around the mean of all
	budget *Budget
}

// A cell is the points at one place.
type cell struct {
	x      []float64
	y      float64 // mean of log t
	n      float64
	within float64 // sum of squares around y
}

func gather(points []Point) data {
	d := data{n: len(points)}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return slices.Compare(a.Axes, b.Axes) })
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && slices.Equal(sorted[to].Axes, sorted[from].Axes) {
			to++
		}
		c := cell{x: sorted[from].Axes, n: float64(to - from)}
		for _, p := range sorted[from:to] {
			c.y += math.Log(p.Seconds) / c.n
		}
		for _, p := range sorted[from:to] {
			c.within += (math.Log(p.Seconds) - c.y) * (math.Log(p.Seconds) - c.y)
		}
		d.within += c.within
		d.cells, from = append(d.cells, c), to
	}
	d.total = d.within + d.between()
	return d
}

// between is the sum of squares of the cells around the mean of all.
func (d *data) between() (out float64) {
	mean := d.mean()
	for _, c := range d.cells {
		out += c.n * (c.y - mean) * (c.y - mean)
	}
	return out
}

func (d *data) mean() (out float64) {
	for _, c := range d.cells {
		out += c.n * c.y / float64(d.n)
	}
	return out
}

// criterion is Akaike's for a sum of squares that is left and so many fitted
// numbers, beside the spread; false where there are too few points for it.
func (d *data) criterion(rss float64, fitted int) (float64, bool) {
	n, p := float64(d.n), float64(fitted+1)
	if n-p-1 <= 0 {
		return 0, false
	}
	return n*math.Log(max(rss, tiny*n)/n) + 2*p + 2*p*(p+1)/(n-p-1), true
}

// varying are the axes that differ among the cells.
func (d *data) varying() (out []int) {
	for a := range d.cells[0].x {
		if slices.ContainsFunc(d.cells, func(c cell) bool { return c.x[a] != d.cells[0].x[a] }) {
			out = append(out, a)
		}
	}
	return out
}

// only are the same points by some of their axes.
func (d *data) only(axes []int) data {
	out := data{n: d.n, total: d.total, budget: d.budget}
	d.budget.spend(len(d.cells) * (1 + len(axes)))
	cells := make([]cell, len(d.cells))
	for i, c := range d.cells {
		x := make([]float64, len(axes))
		for k, a := range axes {
			x[k] = c.x[a]
		}
		cells[i] = cell{x: x, y: c.y, n: c.n, within: c.within}
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return slices.Compare(a.x, b.x) })
	for from := 0; from < len(cells); {
		to, sum := from, cell{x: cells[from].x}
		for ; to < len(cells) && slices.Equal(cells[to].x, cells[from].x); to++ {
			sum.y, sum.n = sum.y+cells[to].y*cells[to].n, sum.n+cells[to].n
		}
		sum.y /= sum.n
		for _, c := range cells[from:to] {
			sum.within += c.within + c.n*(c.y-sum.y)*(c.y-sum.y)
		}
		out.cells, from = append(out.cells, sum), to
	}
	out.within = max(d.total-out.between(), 0)
	return out
}

// worthwhile leaves out axes that explain nothing, the least of them first: by
// the law that has an exponent, or a share, for each.
func (d *data) worthwhile(axes []int) []int {
	by := func(axes []int) float64 {
		of := d.only(axes)
		least := math.Inf(1)
		for _, l := range []law{power(len(axes)), sum(len(axes))} {
			if f, ok := of.fit(l); ok {
				least = min(least, f.aicc)
			}
		}
		return least
	}
	for best := by(axes); len(axes) > 1 && !d.budget.Spent(); {
		drop, least := -1, best
		for k := range axes {
			if d.budget.Spent() {
				break
			}
			if v := by(slices.Delete(slices.Clone(axes), k, k+1)); v < least || math.IsInf(least, 1) {
				drop, least = k, v
			}
		}
		if drop < 0 {
			break
		}
		axes, best = slices.Delete(slices.Clone(axes), drop, drop+1), least
	}
	return axes
}
