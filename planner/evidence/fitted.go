package evidence

import (
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A Fitted model is how long each cell of a phase takes by its numeric axes, where
// the completed jobs show that these explain it.
type Fitted struct {
	phase  *lang.Phase
	model  forecast.Model
	axes   []int       // of the phase's grid
	values [][]float64 // by axis, then by the index of its value
}

// mostPoints is how many completed jobs of a phase a model is fitted to; of
// more, every so many are taken.
const mostPoints = 10_000

// Fit fits the runtimes of completed jobs over the numeric axes that vary
// among them. Repeats are samples of the same, and no reason for a runtime.
func Fit(p *lang.Phase, records []*state.Job) (Fitted, bool) {
	var cells []int
	var took []time.Duration
	step := len(records)/mostPoints + 1
	for i := 0; i < len(records); i += step {
		job := records[i]
		if job == nil || job.Status != state.Completed || len(job.Attempts) == 0 {
			continue
		}
		if d := Elapsed(&job.Attempts[len(job.Attempts)-1]); d > 0 {
			cells, took = append(cells, i), append(took, d)
		}
	}
	f := Fitted{phase: p}
	var names []string
	for a, axis := range p.Grid.Axes {
		values := numeric(p, a)
		if values == nil || slices.Contains(p.Grid.Repeat, axis.Name) || !varies(p, cells, a) {
			continue
		}
		f.axes, f.values, names = append(f.axes, a), append(f.values, values), append(names, axis.Name)
	}
	points := make([]forecast.Point, len(cells))
	for k, i := range cells {
		points[k] = forecast.Point{Axes: f.at(i, nil), Runtime: took[k]}
	}
	var ok bool
	f.model, ok = forecast.Fit(names, points)
	return f, ok
}

// numeric are an axis's values as numbers, nil when one is not above zero:
// the model is a power law.
func numeric(p *lang.Phase, axis int) []float64 {
	values := p.Grid.Axes[axis].Values
	out := make([]float64, len(values))
	for i, v := range values {
		if !v.IsNum || !(v.Num > 0) {
			return nil
		}
		out[i] = v.Num
	}
	return out
}

func varies(p *lang.Phase, cells []int, axis int) bool {
	return slices.ContainsFunc(cells, func(i int) bool { return p.Grid.Coord(i, axis) != p.Grid.Coord(cells[0], axis) })
}

// at are a cell's values on the axes of the model.
func (f *Fitted) at(cell int, buf []float64) []float64 {
	for k, a := range f.axes {
		buf = append(buf, f.values[k][f.phase.Grid.Coord(cell, a)])
	}
	return buf
}

// Predict is how long a cell is foretold to take, and its 90th percentile.
func (f *Fitted) Predict(cell int) (expected, p90 time.Duration, ok bool) {
	var buf [8]float64
	return f.model.Predict(f.at(cell, buf[:0]))
}

// Bucket is the same for cells that take about as long as one another.
func (f *Fitted) Bucket(cell int) (int, bool) {
	var buf [8]float64
	return f.model.Bucket(f.at(cell, buf[:0]))
}

// Runtime is one launch of the cells of a bucket.
func (f *Fitted) Runtime(bucket int, walltime time.Duration) forecast.Runtime {
	return f.model.Runtime(f.phase.Name, bucket, walltime)
}

// Text says what the model is made of.
func (f *Fitted) Text() string { return f.model.Text(f.phase.Name) }

// A fitKey is what cells have in common that count as alike in the forecast.
type fitKey struct {
	place  uint16
	bucket int
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
			group.Runtime = f.Runtime(bucket, group.Decision.Shape.Walltime)
			g = uint16(len(out.Groups))
			out.Groups, groups[key] = append(out.Groups, group), g
		}
		out.Of[i] = g
	}
}
