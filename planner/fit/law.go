package fit

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
)

// A law says how a runtime follows k axes: t = e^a · f(x), with f of one of three
// kinds. All parts are above zero, for no part of a job takes less than no time;
// a constant part is its start-up time, whatever its size.
//
//	product:   f = Π x^b             b fitted, or 1 or 2
//	constant:  f = e^r + Π x^b
//	sum:       f = 1 + Σ e^s·x
type law struct {
	kind  kind
	axes  int
	power bool // exponents are fitted
	// given is the exponent otherwise, 1 where it is 0: 2 is work for each pair, 1.5 is
	// between.
	given float64
}

// halfway is the exponent between work for each item and work for each pair: sorting, sparse
// products, and jobs that do both.
const halfway = 1.5

type kind int

const (
	product kind = iota
	constant
	added
)

func power(axes int) law { return law{kind: product, axes: axes, power: true} }
func sum(axes int) law   { return law{kind: added, axes: axes} }

// laws are those that are tried.
func laws(axes int) []law {
	out := []law{{kind: product, axes: axes}, {kind: constant, axes: axes}, power(axes), {kind: constant, axes: axes, power: true}}
	if axes == 1 {
		return append(out, law{kind: constant, axes: axes, given: halfway}, law{kind: constant, axes: axes, given: 2})
	}
	if axes > 1 {
		out = append(out[:2], append([]law{sum(axes)}, out[2:]...)...)
	}
	return out
}

// params is how many numbers are fitted.
func (l law) params() int {
	n := 1
	if l.kind == constant {
		n++
	}
	if l.power || l.kind == added {
		n += l.axes
	}
	return n
}

// fixed is the exponent that is not fitted.
func (l law) fixed() float64 {
	if l.given > 0 {
		return l.given
	}
	return 1
}

// exponents are where the exponents stand among the parameters; 0 = they are 1.
func (l law) exponents() int {
	switch {
	case !l.power:
		return 0
	case l.kind == constant:
		return 2
	}
	return 1
}

// value is log t for parameters, and its gradient by these.
func (l law) value(theta, x, grad []float64) float64 {
	grad[0] = 1
	if l.kind == added {
		f := 1.0
		for i, v := range x {
			f += math.Exp(theta[1+i]) * v
		}
		for i, v := range x {
			grad[1+i] = math.Exp(theta[1+i]) * v / f
		}
		return theta[0] + math.Log(f)
	}
	at, log := l.exponents(), 0.0
	for i, v := range x {
		b := l.fixed()
		if at > 0 {
			b = theta[at+i]
		}
		if v > 0 {
			log += b * math.Log(v)
		} else if b != 0 { // a part that falls with the axis has no bound at 0
			log = math.Copysign(math.Inf(1), -b)
			break
		}
	}
	share := 1.0 // of the product
	out := theta[0] + log
	if l.kind == constant {
		out = theta[0] + logSum(theta[1], log)
		share = math.Exp(theta[0] + log - out)
		grad[1] = 1 - share
	}
	if at > 0 {
		for i, v := range x {
			grad[at+i] = 0
			if v > 0 && share > 0 {
				grad[at+i] = share * math.Log(v)
			}
		}
	}
	return out
}

// logSum is log(e^a + e^b).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// A fitted law is one with its numbers.
type fitted struct {
	law
	theta   []float64
	rss     float64
	aicc    float64
	inverse [][]float64 // of JᵀJ
	names   []string
}

func (f *fitted) log(x []float64) float64 {
	var grad [maxParams]float64
	return f.value(f.theta, x, grad[:])
}

// leverage is the variance of the law at a point, as a share of that of a single
// run: 1/n at the mean of n runs, and more the further the point is from them.
func (f *fitted) leverage(x []float64) (out float64) {
	var grad [maxParams]float64
	f.value(f.theta, x, grad[:])
	for i := range f.theta {
		for j := range f.theta {
			out += grad[i] * f.inverse[i][j] * grad[j]
		}
	}
	return max(out, 0)
}

// text is the law with its numbers, which are times.
func (f *fitted) text() string {
	grows := func(seconds float64, names []string, at int) string {
		s := span(seconds)
		for i, n := range names {
			s += "·" + n
			if at > 0 {
				s += fmt.Sprintf("^%.2g", f.theta[at+i])
			} else if f.given > 0 {
				s += fmt.Sprintf("^%g", f.given)
			}
		}
		return s
	}
	switch f.kind {
	case added:
		parts := []string{span(math.Exp(f.theta[0]))}
		for i := range f.names {
			parts = append(parts, grows(math.Exp(f.theta[0]+f.theta[1+i]), f.names[i:i+1], 0))
		}
		return strings.Join(parts, " + ")
	case constant:
		return span(math.Exp(f.theta[0]+f.theta[1])) + " + " + grows(math.Exp(f.theta[0]), f.names, f.exponents())
	}
	return grows(math.Exp(f.theta[0]), f.names, f.exponents())
}

// span is a time for people: to three digits, in minutes where seconds are many.
func span(seconds float64) string {
	if seconds >= 100 && seconds < 1e9 {
		return units.ShortDuration(time.Duration(math.Round(seconds)) * time.Second)
	}
	return fmt.Sprintf("%.3gs", seconds)
}
