package planner

import (
	"slices"
	"time"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A fitted model is how long each cell of a phase takes by its numeric axes, where
// the completed jobs show that these explain it.
type fitted struct {
	model  forecast.Model
	axes   []int       // of the phase's grid
	values [][]float64 // by axis, then by the index of its value
}

// mostPoints is how many completed jobs of a phase a model is fitted to; of
// more, every so many are taken.
const mostPoints = 10_000

// fit fits the runtimes of completed jobs over the numeric axes that vary
// among them. Repeats are samples of the same, and no reason for a runtime.
func (m *maker) fit(w *work) (fitted, bool) {
	if !w.starting() {
		return fitted{}, false
	}
	var cells []int
	var took []time.Duration
	step := len(w.rec)/mostPoints + 1
	for i := 0; i < len(w.rec); i += step {
		job := w.rec[i]
		if job == nil || job.Status != state.Completed || len(job.Attempts) == 0 {
			continue
		}
		if d := elapsed(&job.Attempts[len(job.Attempts)-1]); d > 0 {
			cells, took = append(cells, i), append(took, d)
		}
	}
	f := fitted{}
	var names []string
	for a, axis := range w.p.Grid.Axes {
		values := numeric(w, a)
		if values == nil || slices.Contains(w.p.Grid.Repeat, axis.Name) || !varies(w, cells, a) {
			continue
		}
		f.axes, f.values, names = append(f.axes, a), append(f.values, values), append(names, axis.Name)
	}
	points := make([]forecast.Point, len(cells))
	for k, i := range cells {
		points[k] = forecast.Point{Axes: f.at(w, i, nil), Runtime: took[k]}
	}
	var ok bool
	f.model, ok = forecast.Fit(names, points)
	return f, ok
}

// numeric are an axis's values as numbers, nil when one is not above zero:
// the model is a power law.
func numeric(w *work, axis int) []float64 {
	values := w.p.Grid.Axes[axis].Values
	out := make([]float64, len(values))
	for i, v := range values {
		if !v.IsNum || !(v.Num > 0) {
			return nil
		}
		out[i] = v.Num
	}
	return out
}

func varies(w *work, cells []int, axis int) bool {
	return slices.ContainsFunc(cells, func(i int) bool { return w.p.Grid.Coord(i, axis) != w.p.Grid.Coord(cells[0], axis) })
}

// at are a cell's values on the axes of the model.
func (f *fitted) at(w *work, cell int, buf []float64) []float64 {
	for k, a := range f.axes {
		buf = append(buf, f.values[k][w.p.Grid.Coord(cell, a)])
	}
	return buf
}

// A fitKey is what cells have in common that count as alike in the forecast.
type fitKey struct {
	place  uint16
	bucket int
}

// spread splits the groups of a phase by the runtimes the model foretells, in
// buckets, so that groups stay few.
func (f *fitted) spread(w *work, out *forecast.Phase) {
	groups := map[fitKey]uint16{}
	var buf [8]float64
	for i, k := range w.pp.Kind {
		at := out.Of[i]
		if !k.Starts() || at == 0 || at == forecast.Never {
			continue
		}
		bucket, ok := f.model.Bucket(f.at(w, i, buf[:0]))
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
			group.Runtime = f.model.Runtime(w.p.Name, bucket, group.Decision.Shape.Walltime)
			g = uint16(len(out.Groups))
			out.Groups, groups[key] = append(out.Groups, group), g
		}
		out.Of[i] = g
	}
}
