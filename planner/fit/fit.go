// Package fit explains runtimes by numeric axes. It compares a few laws, such
// as a constant plus a power, selects the one that the runs support, and
// estimates its error, which grows beyond the observed values.
package fit

import (
	"cmp"
	"math"
	"slices"
)

// A Point is the runtime of a run, in seconds, and the numeric axes of its job.
type Point struct {
	Axes    []float64 // none below zero
	Seconds float64
}

// A Model is a law with its fitted parameters.
type Model struct {
	Points  int     // that it is fitted to
	Freedom int     // these less the fitted parameters
	Spread  float64 // standard deviation of log t around the law
	law     fitted
	rivals  []rival
	lo, hi  []float64 // the range seen on each axis
	used    []int     // axes of the points that the law is about
}

// A rival is a law that the runs do not rule out, and what speaks for it
// against the others, from 0 to 1.
type rival struct {
	fitted
	weight float64
}

// decided is by how much Akaike's criterion in its form for small samples (AICc)
// has to be less for a law than for none: differences of 4 and more leave the
// greater considerably less support (Burnham and Anderson, Model Selection and
// Multimodel Inference, 2002).
const decided = 4.0

// lessLikely is the handicap of a mere power, or a square, where a constant part beside a
// growing one explains the runs as well: a start-up time is more frequent than a cost that
// grows more slowly than its size, and work for each item more than work for each pair. A
// judgement of ours, within which two laws have about the same support.
const lessLikely = 2.0

// Fit finds the law that points follow, or reports false where none explains
// them better than their mean does, or the budget is spent. names are those of
// the axes.
func Fit(names []string, points []Point, b *Budget) (Model, bool) {
	if len(names) == 0 || b.Spent() || slices.ContainsFunc(points, func(p Point) bool { return !(p.Seconds > 0) }) {
		return Model{}, false
	}
	d := gather(points)
	d.budget = b
	none, ok := d.criterion(d.total, 1)
	if !ok || d.total < tiny {
		return Model{}, false
	}
	axes := d.worthwhile(d.varying())
	if len(axes) == 0 {
		return Model{}, false
	}
	d = d.only(axes)
	var all []fitted
	for _, l := range laws(len(axes)) {
		if f, ok := d.fit(l); ok && f.occurs() && d.predicts(&f) {
			all = append(all, f)
		}
	}
	best, ok := choose(all)
	if !ok || best.aicc > none-decided || b.Spent() {
		return Model{}, false
	}
	m := Model{Points: d.n, Freedom: d.n - len(best.theta), Spread: math.Sqrt(best.rss / float64(d.n-len(best.theta))), law: best, rivals: rivals(all), used: axes}
	m.law.names = pick(names, axes)
	for i := range axes {
		lo, hi := d.cells[0].x[i], d.cells[0].x[i]
		for _, c := range d.cells {
			lo, hi = min(lo, c.x[i]), max(hi, c.x[i])
		}
		m.lo, m.hi = append(m.lo, lo), append(m.hi, hi)
	}
	return m, true
}

// mostExponent is the largest exponent of a law: costs that people lay a grid over
// grow with the square or the cube of a size, and a single slow run at the end of an
// axis looks like its thirtieth power. None is below zero, for more work is not done
// sooner.
const mostExponent = 4.0

// margin is the largest share of the mean's squared error that a law may have on
// runs that are left out: a law that explains less is as often an accident.
const margin = 0.75

// occurs reports whether the exponents of a law are such as costs have.
func (f *fitted) occurs() bool {
	at := f.exponents()
	for k := 0; at > 0 && k < f.axes; k++ {
		if b := f.theta[at+k]; b < 0 || b > mostExponent {
			return false
		}
	}
	return true
}

// predicts reports whether a law is clearly nearer than the mean to runs that are
// left out of it, one at a time: the residual of a run that counts is divided by one
// less its leverage (Allen, The relationship between variable selection and data
// augmentation, Technometrics 16, 1974; exact for linear laws).
func (d *data) predicts(f *fitted) bool {
	n := float64(d.n)
	none, off := d.total/((1-1/n)*(1-1/n)), 0.0
	for _, c := range d.cells {
		free := 1 - f.leverage(c.x)
		if free < tiny {
			return false
		}
		r := c.y - f.log(c.x)
		off += (c.within + c.n*r*r) / (free * free)
	}
	return off <= margin*none
}

// choose is the law that the runs speak for. The law between those of each item and
// of each pair, which can stand in for either where runs are few, has to be clearly
// better than the one that is chosen without it.
func choose(all []fitted) (fitted, bool) {
	var plain []fitted
	between := fitted{aicc: math.Inf(1)}
	for _, f := range all {
		if f.given == halfway {
			between = f
		} else {
			plain = append(plain, f)
		}
	}
	if len(plain) == 0 {
		return fitted{}, false
	}
	if best := preferred(plain); between.aicc > best.aicc-decided {
		return best, true
	}
	return between, true
}

// preferred is the likeliest law, or a plainer one that is about as likely.
func preferred(all []fitted) fitted {
	by := func(a, b fitted) int { return cmp.Compare(a.aicc, b.aicc) }
	best := slices.MinFunc(all, by)
	if best.kind == product && best.power || best.given > 0 {
		for _, f := range slices.SortedStableFunc(slices.Values(all), by) {
			if f.kind != product && !f.power && f.given == 0 && f.aicc <= best.aicc+lessLikely {
				return f
			}
		}
	}
	return best
}

// rivals weighs laws against one another (Akaike weights).
func rivals(all []fitted) []rival {
	least, sum := math.Inf(1), 0.0
	for _, f := range all {
		least = min(least, f.aicc)
	}
	var out []rival
	for _, f := range all {
		w := math.Exp((least - f.aicc) / 2)
		out, sum = append(out, rival{f, w}), sum+w
	}
	for i := range out {
		out[i].weight /= sum
	}
	return slices.DeleteFunc(out, func(r rival) bool { return r.weight < 0.01 })
}

// At is the logarithm of the median runtime at some values of the axes, and the
// standard deviation of the law itself there: its uncertainty from the points,
// and its distance from the laws that explain them as well. A law by which a job
// takes no time there, or for ever, is none that may hold.
func (m *Model) At(axes []float64) (log, unsure float64) {
	var buf [8]float64
	x := buf[:0]
	for _, a := range m.used {
		x = append(x, axes[a])
	}
	log = m.law.log(x)
	v := m.Spread * m.Spread * m.law.leverage(x)
	for i := range m.rivals {
		if off := m.rivals[i].log(x) - log; !math.IsInf(off, 0) {
			v += m.rivals[i].weight * off * off
		}
	}
	return log, math.Sqrt(v)
}

// Typical is the average of unsure over the points.
func (m *Model) Typical() float64 {
	return m.Spread * math.Sqrt(float64(len(m.law.theta))/float64(m.Points))
}

// A Reach is a value of an axis outside the values that ran.
type Reach struct {
	Name   string
	At     float64
	Lo, Hi float64 // of the runs
}

// About reports whether the law is about an axis of the points.
func (m *Model) About(axis int) bool { return slices.Contains(m.used, axis) }

// Beyond are the axes on which a value is outside those that ran.
func (m *Model) Beyond(axes []float64) (out []Reach) {
	for i, a := range m.used {
		if axes[a] < m.lo[i] || axes[a] > m.hi[i] {
			out = append(out, Reach{m.law.names[i], axes[a], m.lo[i], m.hi[i]})
		}
	}
	return out
}

// Text is the law: "1.5s + 0.98s·N".
func (m *Model) Text() string { return m.law.text() }

func pick(names []string, axes []int) (out []string) {
	for _, a := range axes {
		out = append(out, names[a])
	}
	return out
}
