package forecast

import (
	"fmt"
	"math"
	"time"
)

// A Point is one observed runtime and the numeric axes of its job.
type Point struct {
	Axes    []float64
	Runtime time.Duration
}

// A Model explains runtimes by numeric axes: log t = a + Σ b·log x, fitted by
// least squares. Power laws are what cost does in the size of a problem.
type Model struct {
	Names  []string
	Coef   []float64 // a, then b for each axis
	Spread float64   // standard deviation of log t around the fit
	R2     float64
	Points int
}

// fitPoints is the least number of points per coefficient, and fitR2 the
// share of the spread a model must explain to be believed.
const (
	fitPoints = 3
	fitR2     = 0.7
)

// Fit fits a model, or reports false when the points are too few, an axis is
// not positive, or the model explains too little.
func Fit(names []string, points []Point) (Model, bool) {
	k := len(names) + 1
	if len(names) == 0 || len(points) < fitPoints*k {
		return Model{}, false
	}
	rows, y := make([][]float64, 0, len(points)), make([]float64, 0, len(points))
	for _, p := range points {
		row, ok := logRow(p)
		if !ok {
			return Model{}, false
		}
		rows, y = append(rows, row), append(y, math.Log(p.Runtime.Seconds()))
	}
	coef, ok := leastSquares(rows, y)
	if !ok {
		return Model{}, false
	}
	m := Model{Names: names, Coef: coef, Points: len(points)}
	m.Spread, m.R2 = residual(rows, y, coef)
	return m, m.R2 >= fitR2
}

func logRow(p Point) ([]float64, bool) {
	row := []float64{1}
	for _, x := range p.Axes {
		if x <= 0 {
			return nil, false
		}
		row = append(row, math.Log(x))
	}
	return row, p.Runtime > 0
}

// Predict is the runtime of a cell: expected, and at the 90th percentile.
func (m Model) Predict(axes []float64) (expected, p90 time.Duration, ok bool) {
	v, ok := m.log(axes)
	if !ok {
		return 0, 0, false
	}
	r := m.at(v)
	return r.Expected, r.P90, true
}

// log is the logarithm of the median runtime of a cell; false where the model
// says nothing of it.
func (m Model) log(axes []float64) (v float64, ok bool) {
	row, ok := logRow(Point{Axes: axes, Runtime: 1})
	if !ok {
		return 0, false
	}
	for i, x := range row {
		v += m.Coef[i] * x
	}
	return v, true
}

// at is the runtime around a median. Its spread is that of the points around the
// fit, and that of the fit itself, which is only as good as its points: on the
// average over these, a share of coefficients to points.
func (m Model) at(v float64) Runtime {
	bound := 0.0
	if m.Spread > 0 {
		bound = student90(m.Points-len(m.Coef)) * m.Spread * math.Sqrt(1+float64(len(m.Coef))/float64(m.Points))
	}
	return Runtime{Expected: seconds(math.Exp(v + m.Spread*m.Spread/2)), Median: seconds(math.Exp(v)), P90: seconds(math.Exp(v + bound))}
}

// bucketStep is the width of a bucket in log t: runtimes within 5 % count as
// one, so that cells whose runtimes differ make few groups.
const bucketStep = 0.05

// Bucket is the bucket that a cell's runtime falls in; false where the model
// says nothing of it.
func (m Model) Bucket(axes []float64) (int, bool) {
	v, ok := m.log(axes)
	if !ok || v > maxLog {
		return 0, false
	}
	return int(math.Round(v / bucketStep)), true
}

// maxLog is the logarithm, in seconds, of a runtime that nobody waits for.
const maxLog = 20.7

// Runtime is that of the cells in a bucket.
func (m Model) Runtime(phase string, bucket int, walltime time.Duration) Runtime {
	r := m.at(float64(bucket) * bucketStep)
	r.Ceiling, r.Mark, r.Seen, r.Basis = walltime, Estimated, m.Points, m.Text(phase)
	return r.bounded()
}

// z90 is the 90th percentile of the normal distribution.
const z90 = 1.2816

// Text names the model, its error and its points for the plan.
func (m Model) Text(phase string) string {
	s := phase + ": fitted over"
	for i, n := range m.Names {
		s += fmt.Sprintf(" %s^%.2g", n, m.Coef[i+1])
	}
	return fmt.Sprintf("%s from %d runs (typical error %.0f %%)", s, m.Points, 100*(math.Exp(m.Spread)-1))
}

func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s, 1e9) * float64(time.Second))
}

// leastSquares solves the normal equations by Gaussian elimination with
// pivoting; false when they are singular (an axis that never varied).
func leastSquares(rows [][]float64, y []float64) ([]float64, bool) {
	k := len(rows[0])
	a := make([][]float64, k)
	for i := range a {
		a[i] = make([]float64, k+1)
		for r, row := range rows {
			for j := range k {
				a[i][j] += row[i] * row[j]
			}
			a[i][k] += row[i] * y[r]
		}
	}
	for i := range k {
		p := i
		for r := i + 1; r < k; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[p][i]) {
				p = r
			}
		}
		if math.Abs(a[p][i]) < 1e-9 {
			return nil, false
		}
		a[i], a[p] = a[p], a[i]
		for r := range k {
			if r == i {
				continue
			}
			f := a[r][i] / a[i][i]
			for c := i; c <= k; c++ {
				a[r][c] -= f * a[i][c]
			}
		}
	}
	out := make([]float64, k)
	for i := range k {
		out[i] = a[i][k] / a[i][i]
	}
	return out, true
}

func residual(rows [][]float64, y, coef []float64) (spread, r2 float64) {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	var res, tot float64
	for i, row := range rows {
		v := 0.0
		for j, x := range row {
			v += coef[j] * x
		}
		res += (y[i] - v) * (y[i] - v)
		tot += (y[i] - mean) * (y[i] - mean)
	}
	if tot < 1e-12 {
		return 0, 0
	}
	return math.Sqrt(res / float64(max(len(y)-len(coef), 1))), 1 - res/tot
}
