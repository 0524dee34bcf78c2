package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A Fitted model is how long each cell of a phase takes by its numeric axes, where
// the completed jobs show that these explain it.
type Fitted struct {
	phase  *lang.Phase
	model  fit.Model
	axes   []int       // of the phase's grid
	values [][]float64 // by axis, then by the index of its value
	text   string      // names the model, its error and its points
	beyond string      // the same, for cells beyond those that ran
	table  []said      // by the cell's coordinates on the axes; nil where these are many
}

// mostPoints is how many completed jobs of a phase a model is fitted to; of
// more, as many are taken from all over them.
const mostPoints = 2_000

// Fit fits the runtimes of completed jobs over the numeric axes that vary
// among them. Repeats are samples of the same, and no reason for a runtime.
func Fit(p *lang.Phase, records []*state.Job) (Fitted, bool) {
	f := Fitted{phase: p}
	var names []string
	for a, axis := range p.Grid.Axes {
		if values := numeric(p, a); values != nil && !slices.Contains(p.Grid.Repeat, axis.Name) {
			f.axes, f.values, names = append(f.axes, a), append(f.values, values), append(names, axis.Name)
		}
	}
	if len(names) == 0 {
		return f, false
	}
	var points []fit.Point
	for _, i := range sampled(completed(p, records)) {
		points = append(points, fit.Point{Axes: f.at(i, nil), Seconds: Worked(p, records[i]).Seconds()})
	}
	var ok bool
	if f.model, ok = fit.Fit(names, points); !ok {
		return f, false
	}
	f.name()
	f.tabulate()
	return f, true
}

// completed are the cells whose job completed in a time that is known.
func completed(p *lang.Phase, records []*state.Job) (cells []int) {
	for i, job := range records {
		if job != nil && job.Status == state.Completed && Worked(p, job) > 0 {
			cells = append(cells, i)
		}
	}
	return cells
}

// sampled are at most mostPoints of some cells, each once, from all over them: in
// steps of the golden ratio, which no axis of a grid keeps time with.
func sampled(cells []int) []int {
	n := len(cells)
	if n <= mostPoints {
		return cells
	}
	out, taken := make([]int, mostPoints), make([]bool, n)
	for k := range out {
		_, at := math.Modf(float64(k) * math.Phi)
		i := int(at * float64(n))
		for taken[i] {
			i = (i + 1) % n
		}
		out[k], taken[i] = cells[i], true
	}
	return out
}

// numeric are an axis's values as numbers, nil when one is none or below zero:
// the laws are of sizes.
func numeric(p *lang.Phase, axis int) []float64 {
	values := p.Grid.Axes[axis].Values
	out := make([]float64, len(values))
	for i, v := range values {
		if !v.IsNum || !(v.Num >= 0) {
			return nil
		}
		out[i] = v.Num
	}
	return out
}

// at are a cell's values on the axes of the model.
func (f *Fitted) at(cell int, buf []float64) []float64 {
	for k, a := range f.axes {
		buf = append(buf, f.values[k][f.phase.Grid.Coord(cell, a)])
	}
	return buf
}

// A Bucket is cells that take about as long as one another, and of which the
// model is about as sure.
type Bucket struct {
	log    int32 // of the runtime, in steps
	unsure int16 // beyond what it is of those that ran, in steps of a factor; 0 = no more
	beyond bool  // on some axis they lie outside what ran
}

const (
	// logStep is the width of a bucket in log t: runtimes within 5 % count as one,
	// so that cells whose runtimes differ make few groups.
	logStep = 0.05
	// unsureLeast is from what standard deviation of log t on it counts how unsure
	// the model is of a cell beyond those that ran, and unsureStep by what factor
	// that differs from one bucket to the next.
	unsureLeast = 0.04
	unsureStep  = 1.25
	// maxLog is the logarithm, in seconds, of a runtime that nobody waits for.
	maxLog = 20.7
)

// said is what the model says of a cell; the zero value is nothing.
type said struct {
	log, unsure float64
	bucket      Bucket
	ok          bool
}

func (f *Fitted) ask(x []float64) said {
	log, unsure := f.model.At(x)
	if !(math.Abs(log) <= maxLog) {
		return said{}
	}
	b := Bucket{log: int32(math.Round(log / logStep)), beyond: len(f.model.Beyond(x)) > 0}
	if more := math.Sqrt(max(unsure*unsure-f.model.Typical()*f.model.Typical(), 0)); more > unsureLeast {
		b.unsure = int16(math.Ceil(math.Log(min(more, maxLog)/unsureLeast) / math.Log(unsureStep)))
	}
	return said{log, unsure, b, true}
}

// mostTable is up to how many places of a grid are asked of beforehand.
const mostTable = 1 << 14

// tabulate asks of all places, where many cells share each.
func (f *Fitted) tabulate() {
	n := 1
	for _, v := range f.values {
		if n *= len(v); n > mostTable {
			return
		}
	}
	table, x := make([]said, n), make([]float64, len(f.values))
	for i := range table {
		at := i
		for k := len(x) - 1; k >= 0; k-- {
			x[k] = f.values[k][at%len(f.values[k])]
			at /= len(f.values[k])
		}
		table[i] = f.ask(x)
	}
	f.table = table
}

// of is what the model says of a cell.
func (f *Fitted) of(cell int) said {
	if f.table == nil {
		var buf [8]float64
		return f.ask(f.at(cell, buf[:0]))
	}
	at := 0
	for k, a := range f.axes {
		at = at*len(f.values[k]) + f.phase.Grid.Coord(cell, a)
	}
	return f.table[at]
}

// Bucket is that of a cell; false where the model says nothing of it.
func (f *Fitted) Bucket(cell int) (Bucket, bool) {
	s := f.of(cell)
	return s.bucket, s.ok
}

// Runtime is one launch of the cells of a bucket.
func (f *Fitted) Runtime(b Bucket, walltime time.Duration) forecast.Runtime {
	unsure := f.model.Typical()
	if b.unsure > 0 {
		unsure = math.Hypot(unsure, unsureLeast*math.Pow(unsureStep, float64(b.unsure)))
	}
	return f.runtime(float64(b.log)*logStep, unsure, b.beyond, walltime)
}

func (f *Fitted) runtime(log, unsure float64, beyond bool, walltime time.Duration) forecast.Runtime {
	text := f.text
	if beyond {
		text = f.beyond
	}
	return forecast.Lawful(forecast.Law{Log: log, Spread: f.model.Spread, Unsure: unsure, Points: f.model.Points, Freedom: f.model.Freedom}, walltime, text)
}

// Predict is one launch of a cell, whatever its walltime.
func (f *Fitted) Predict(cell int) (r forecast.Runtime, ok bool) {
	s := f.of(cell)
	if !s.ok {
		return r, false
	}
	return f.runtime(s.log, s.unsure, s.bucket.beyond, 0), true
}

// name writes down the model; and how far the grid goes beyond what ran, and how
// far off the model may be there, for the cells that this is about.
func (f *Fitted) name() {
	f.text = fmt.Sprintf("%s: fitted as %s from %d runs (typical error %.0f %%)", f.phase.Name, f.model.Text(), f.model.Points, percent(f.model.Spread))
	var lo, some, hi []float64
	for _, v := range f.values {
		lo, hi = append(lo, slices.Min(v)), append(hi, slices.Max(v))
		above := slices.DeleteFunc(slices.Clone(v), func(v float64) bool { return v == 0 })
		some = append(some, slices.Min(append(above, hi[len(hi)-1])))
	}
	if !f.ask(lo).ok {
		lo = some // nothing is said of what has no size
	}
	var beyond []string
	most := 0.0
	for _, x := range [][]float64{lo, hi} {
		s := f.ask(x)
		if !s.ok {
			continue
		}
		for _, r := range f.model.Beyond(x) {
			beyond = append(beyond, fmt.Sprintf("%s=%g is beyond the %g to %g that ran", r.Name, r.At, r.Lo, r.Hi))
			most = max(most, s.unsure)
		}
	}
	f.beyond = f.text + fmt.Sprintf("; %s, and there the model may be off by %s", strings.Join(beyond, ", "), off(most))
}

// off is how far off a model may be, in words. What is off by more than all of it is
// so to either side by a factor, and then a law says little: p90 counts that, and
// no job lasts beyond its walltime.
func off(deviation float64) string {
	switch share := percent(deviation); {
	case share < 100:
		return fmt.Sprintf("±%.0f %%", share)
	case share < mostFactor*100:
		return fmt.Sprintf("a factor of %.1f to either side, which its p90 counts up to the walltime: one run there, as a pilot, would tell more", 1+share/100)
	}
	return fmt.Sprintf("a factor of more than %d, so that nothing but the walltime bounds it: one run there, as a pilot, would tell more", mostFactor)
}

// mostFactor is beyond what factor it does not matter how far a model is off.
const mostFactor = 100

// percent is what a standard deviation of log t makes.
func percent(deviation float64) float64 { return 100 * (math.Exp(deviation) - 1) }

// A fitKey is what cells have in common that count as alike in the forecast.
type fitKey struct {
	place  uint16
	bucket Bucket
}

// Split splits the groups of a phase in a forecast by the runtimes the model
// foretells of what starts, in buckets, so that groups stay few.
func (f *Fitted) Split(out *forecast.Phase, starts func(cell int) bool) {
	groups := map[fitKey]uint16{}
	for i, at := range out.Of {
		if !starts(i) || at == 0 || at == forecast.Never {
			continue
		}
		bucket, ok := f.Bucket(i)
		if !ok {
			continue
		}
		key := fitKey{at, bucket}
		g, ok := groups[key]
		if !ok {
			if len(out.Groups) >= forecast.Never-1 {
				continue
			}
			group := out.Groups[at]
			group.Runtime = f.Runtime(bucket, Longest(f.phase, group.Decision))
			g = uint16(len(out.Groups))
			out.Groups, groups[key] = append(out.Groups, group), g
		}
		out.Of[i] = g
	}
}
