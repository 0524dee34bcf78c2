package fit

import (
	"math"
	"slices"
)

// maxAxes is how many axes a law may have; a grid with more numeric axes than
// that, each of which matters, is not fitted.
const (
	maxAxes   = 7
	maxParams = maxAxes + 2
)

// Bounds of the search for least squares: steps, the damping to begin with, and
// how small a part of the squares a step has to take away.
const (
	mostSteps = 60
	damping   = 1e-3
	enough    = 1e-10
)

// fit finds the numbers of a law by least squares of log t (Levenberg and
// Marquardt); false where the points do not tell them.
func (d *data) fit(l law) (fitted, bool) {
	p := l.params()
	if l.axes > maxAxes || len(d.cells) < p || d.zero() && l.kind == product {
		return fitted{}, false
	}
	var best fitted
	found := false
	for _, theta := range d.starts(l) {
		theta, rss, hessian := d.descend(l, theta)
		inverse, ok := invert(hessian)
		if !ok || math.IsNaN(rss) || found && rss >= best.rss {
			continue
		}
		best, found = fitted{law: l, theta: theta, rss: rss + d.within, inverse: inverse}, true
	}
	if !found {
		return best, false
	}
	var ok bool
	best.aicc, ok = d.criterion(best.rss, p)
	return best, ok
}

// zero reports whether a cell is at nought of an axis.
func (d *data) zero() bool {
	return slices.ContainsFunc(d.cells, func(c cell) bool { return slices.Contains(c.x, 0) })
}

// starts are where the search begins: with a constant part as large as the
// least value of the growing part, and with one a tenth of it.
func (d *data) starts(l law) (out [][]float64) {
	mean := d.mean()
	for _, share := range []float64{1, 0.1} {
		theta := make([]float64, l.params())
		for i := l.exponents(); i > 0 && i < len(theta); i++ {
			theta[i] = 1
		}
		x := d.middle()
		switch l.kind {
		case constant:
			for _, v := range x {
				theta[1] += math.Log(v)
			}
			theta[1] += math.Log(share)
		case added:
			for i, v := range x {
				theta[1+i] = -math.Log(v * share)
			}
		}
		var grad [maxParams]float64
		theta[0] = mean - l.value(theta, x, grad[:])
		if out = append(out, theta); l.kind == product {
			break
		}
	}
	return out
}

// middle is the geometric middle of the cells, nought left out.
func (d *data) middle() []float64 {
	out := make([]float64, len(d.cells[0].x))
	for i := range out {
		s, n := 0.0, 0.0
		for _, c := range d.cells {
			if c.x[i] > 0 {
				s, n = s+math.Log(c.x[i]), n+1
			}
		}
		out[i] = math.Exp(s / max(n, 1))
	}
	return out
}

// descend goes down the sum of squares from a start.
func (d *data) descend(l law, theta []float64) (at []float64, rss float64, hessian [][]float64) {
	lambda := damping
	rss, hessian, slope := d.squares(l, theta)
	for range mostSteps {
		if d.budget.Spent() {
			break
		}
		damped := make([][]float64, len(theta))
		for i := range damped {
			damped[i] = append(slices.Clone(hessian[i]), slope[i])
			damped[i][i] += lambda * (hessian[i][i] + enough)
		}
		step, ok := solve(damped)
		if !ok {
			break
		}
		next := slices.Clone(theta)
		for i := range next {
			next[i] += step[i]
		}
		was := rss
		r, h, s := d.squares(l, next)
		if !(r <= rss) {
			if lambda *= 8; lambda > 1e9 {
				break
			}
			continue
		}
		theta, rss, hessian, slope, lambda = next, r, h, s, lambda/8
		if was-rss <= enough*was+tiny {
			break
		}
	}
	return theta, rss, hessian
}

// squares are the sum of squares of the cells around a law, JᵀJ, and Jᵀ of the
// residuals.
func (d *data) squares(l law, theta []float64) (rss float64, hessian [][]float64, slope []float64) {
	p := len(theta)
	d.budget.spend(len(d.cells) * p)
	hessian, slope = make([][]float64, p), make([]float64, p)
	for i := range hessian {
		hessian[i] = make([]float64, p)
	}
	var grad [maxParams]float64
	for _, c := range d.cells {
		off := c.y - l.value(theta, c.x, grad[:])
		rss += c.n * off * off
		for i := range p {
			slope[i] += c.n * grad[i] * off
			for j := range p {
				hessian[i][j] += c.n * grad[i] * grad[j]
			}
		}
	}
	return rss, hessian, slope
}

// solve solves linear equations, each row with its right side, by Gaussian
// elimination with pivoting; false when they are singular.
func solve(a [][]float64) ([]float64, bool) {
	k := len(a)
	if !eliminate(a) {
		return nil, false
	}
	out := make([]float64, k)
	for i := range k {
		out[i] = a[i][k]
	}
	return out, true
}

// invert is the inverse of a matrix; false where it has none to speak of.
func invert(m [][]float64) ([][]float64, bool) {
	k := len(m)
	a := make([][]float64, k)
	for i := range a {
		a[i] = append(slices.Clone(m[i]), make([]float64, k)...)
		a[i][k+i] = 1
	}
	if !eliminate(a) {
		return nil, false
	}
	for i := range a {
		a[i] = a[i][k:]
	}
	return a, true
}

// eliminate makes the left square of a matrix the identity.
func eliminate(a [][]float64) bool {
	for i := range a {
		p := i
		for r := i + 1; r < len(a); r++ {
			if math.Abs(a[r][i]) > math.Abs(a[p][i]) {
				p = r
			}
		}
		if !(math.Abs(a[p][i]) > 1e-9) {
			return false
		}
		a[i], a[p] = a[p], a[i]
		by := a[i][i]
		for c := i; c < len(a[i]); c++ {
			a[i][c] /= by
		}
		for r := range a {
			if f := a[r][i]; r != i && f != 0 {
				for c := i; c < len(a[r]); c++ {
					a[r][c] -= f * a[i][c]
				}
			}
		}
	}
	return true
}
