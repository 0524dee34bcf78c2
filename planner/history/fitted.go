package history

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

// A Fitted model is how long each cell of a phase takes: by a law over the values
// that determine the work, where the completed jobs show one. It names the cells
// whose work is another, about which these say nothing.
type Fitted struct {
	past   *Past
	phase  *lang.Phase
	model  fit.Model
	lawful bool
	cut    bool   // the budget of fits is spent
	dims   []int  // of the past, that the law may be about
	text   string // names the model, its error and its points
	beyond string // the same, for cells beyond those that ran
	table  []said // by the cell's coordinates on the axes; nil where these are many
	apart  *[]string
}

// mostPoints is how many completed jobs of a phase a model is fitted to; of
// more, as many are taken from all over them.
const mostPoints = 2_000

// Fit fits the runtimes of completed jobs over the numbers that vary among them.
// It reports false where the mean of the completed jobs speaks for every cell.
func (h *Past) Fit(b *fit.Budget) (*Fitted, bool) {
	f := &Fitted{past: h, phase: h.phase, apart: &[]string{}}
	if len(h.cells) == 0 {
		return f, false
	}
	var names []string
	for k, d := range h.dims {
		if d.all.varied && d.all.number {
			f.dims, names = append(f.dims, k), append(names, d.name)
		}
	}
	if len(names) > 0 {
		var points []fit.Point
		for _, k := range sampled(h.order()) {
			at := make([]float64, len(f.dims))
			for i, d := range f.dims {
				at[i] = h.dims[d].values[k].num
			}
			points = append(points, fit.Point{Axes: at, Seconds: Worked(h.phase, h.records[h.cells[k]]).Seconds()})
		}
		f.model, f.lawful = fit.Fit(names, points, b)
		f.cut = b.Spent()
	}
	n := 1
	for _, a := range h.axes {
		if n *= len(h.phase.Grid.Axes[a].Values); n > mostTable {
			n = 0
			break
		}
	}
	f.table = make([]said, n)
	if f.lawful {
		f.name()
		return f, true
	}
	return f, h.beyond()
}

// beyond reports whether some cell's work may be another than that of the
// completed jobs.
func (h *Past) beyond() bool {
	for _, d := range h.dims {
		if d.axis < 0 {
			return true
		}
		for _, v := range h.phase.Grid.Axes[d.axis].Values {
			if !d.seen.has(mark{v.Text, v.Num, v.IsNum && v.Num >= 0}, false) {
				return true
			}
		}
	}
	return false
}

// order are the places of the completed jobs among them.
func (h *Past) order() []int {
	out := make([]int, len(h.cells))
	for k := range out {
		out[k] = k
	}
	return out
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

// A Bucket is cells with about the same runtime and the same uncertainty in
// the model.
type Bucket struct {
	log    int32  // of the runtime, in steps
	unsure int16  // beyond the one of cells that ran, in steps of a factor; 0 = no more
	beyond bool   // on some axis they are outside the values that ran
	apart  uint16 // counted from 1: why the completed jobs say nothing of them; 0 = they do
}

const (
	// logStep is the width of a bucket in log t: runtimes within 5 % count as one,
	// so that cells whose runtimes differ make few groups.
	logStep = 0.05
	// unsureLeast is the standard deviation of log t from which the model's
	// uncertainty counts for a cell beyond those that ran, and unsureStep the
	// factor between one bucket and the next.
	unsureLeast = 0.04
	unsureStep  = 1.25
	// maxLog is the logarithm, in seconds, of a runtime that nobody waits for.
	maxLog = 20.7
)

// said is the model's forecast of a cell; the zero value is none.
type said struct {
	log, unsure float64
	bucket      Bucket
	ok          bool
	asked       bool
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
	return said{log: log, unsure: unsure, bucket: b, ok: true}
}

// mostTable is up to how many places of a grid are asked of beforehand.
const mostTable = 1 << 14

// of is the forecast of a cell.
func (f *Fitted) of(cell int) said {
	if len(f.table) == 0 {
		return f.judge(cell)
	}
	at := 0
	for _, a := range f.past.axes {
		at = at*len(f.phase.Grid.Axes[a].Values) + f.phase.Grid.Coord(cell, a)
	}
	if !f.table[at].asked {
		f.table[at] = f.judge(cell)
		f.table[at].asked = true
	}
	return f.table[at]
}

func (f *Fitted) judge(cell int) said {
	about := func(int) bool { return false }
	if f.lawful {
		about = func(k int) bool { return f.about(k) }
	}
	if why := f.past.apart(cell, about); why != "" {
		return said{bucket: Bucket{apart: f.reason(why)}, ok: true}
	}
	if !f.lawful {
		return said{}
	}
	var buf [8]float64
	x := buf[:0]
	for _, k := range f.dims {
		x = append(x, f.past.dims[k].of(f.phase, cell).num)
	}
	return f.ask(x)
}

// about reports whether the law is about a dim.
func (f *Fitted) about(dim int) bool {
	at := slices.Index(f.dims, dim)
	return at >= 0 && f.model.About(at)
}

// mostReasons limits the kinds of work with a reason for the lack of a forecast; others get
// the first one's.
const mostReasons = 1000

func (f *Fitted) reason(why string) uint16 {
	at := slices.Index(*f.apart, why)
	switch {
	case at < 0 && len(*f.apart) >= mostReasons:
		at = 0
	case at < 0:
		at = len(*f.apart)
		*f.apart = append(*f.apart, why)
	}
	return uint16(at + 1)
}

// Lawful reports whether there is a law.
func (f *Fitted) Lawful() bool { return f.lawful }

// Cut reports whether no law was sought to the end, for fits took too much work.
func (f *Fitted) Cut() bool { return f.cut && !f.lawful }

// Apart names the difference between the work of a cell and that of the completed
// jobs: "epochs 400 → 40,000"; "" where they are comparable.
func (f *Fitted) Apart(cell int) string {
	if b := f.of(cell).bucket; b.apart > 0 {
		return (*f.apart)[b.apart-1]
	}
	return ""
}

// Bucket is that of a cell; false where nothing but the mean of all is known of it.
func (f *Fitted) Bucket(cell int) (Bucket, bool) {
	s := f.of(cell)
	return s.bucket, s.ok
}

// Runtime is one launch of the cells of a bucket.
func (f *Fitted) Runtime(b Bucket, walltime time.Duration) forecast.Runtime {
	if b.apart > 0 {
		return forecast.Incomparable(f.phase.Name, (*f.apart)[b.apart-1], walltime)
	}
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

// Predict is one launch of a cell, whatever its walltime; its mark is Unknown where
// the completed jobs say nothing of it.
func (f *Fitted) Predict(cell int) (r forecast.Runtime, ok bool) {
	s := f.of(cell)
	if !s.ok || s.bucket.apart > 0 {
		return f.Runtime(s.bucket, 0), s.ok
	}
	return f.runtime(s.log, s.unsure, s.bucket.beyond, 0), true
}

// name writes down the model; and how far the grid goes beyond what ran, and how
// far off the model may be there, for the cells that this is about.
func (f *Fitted) name() {
	f.text = fmt.Sprintf("%s: fitted as %s from %d runs (typical error %.0f %%)", f.phase.Name, f.model.Text(), f.model.Points, percent(f.model.Spread))
	var lo, some, hi []float64
	for _, k := range f.dims {
		v := f.now(k)
		lo, hi = append(lo, slices.Min(v)), append(hi, slices.Max(v))
		above := slices.DeleteFunc(slices.Clone(v), func(v float64) bool { return v == 0 })
		some = append(some, slices.Min(append(above, hi[len(hi)-1])))
	}
	if !f.ask(lo).ok {
		lo = some // work without a size gets no forecast
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

// now are the numbers that the cells of the grid have on a dim.
func (f *Fitted) now(k int) (out []float64) {
	d := f.past.dims[k]
	add := func(m mark) {
		if m.is && d.all.has(m, true) {
			out = append(out, m.num)
		}
	}
	switch {
	case d.axis >= 0:
		for _, v := range f.phase.Grid.Axes[d.axis].Values {
			add(mark{v.Text, v.Num, v.IsNum && v.Num >= 0})
		}
	case len(d.follows(f.phase)) == 0:
		add(d.of(f.phase, 0))
	default:
		for _, cell := range f.past.cells {
			add(d.of(f.phase, cell))
		}
	}
	if len(out) == 0 {
		out = []float64{d.all.hi}
	}
	return out
}

// off is how far off a model may be, in words. A larger error than the whole is a factor to
// either side, and then a law says little: p90 counts that, and no job lasts beyond its
// walltime.
func off(deviation float64) string {
	switch share := percent(deviation); {
	case share < 100:
		return fmt.Sprintf("±%.0f %%", share)
	case share < mostFactor*100:
		return fmt.Sprintf("a factor of %.1f to either side, which its p90 counts up to the walltime: one run there, as a pilot, would tell more", 1+share/100)
	}
	return fmt.Sprintf("a factor of more than %d, so that nothing but the walltime bounds it: one run there, as a pilot, would tell more", mostFactor)
}

// mostFactor is the factor beyond which it does not matter how far a model is
// off.
const mostFactor = 100

// percent is a standard deviation of log t in percent.
func percent(deviation float64) float64 { return 100 * (math.Exp(deviation) - 1) }

// A fitKey is common to the cells that count as alike in the forecast.
type fitKey struct {
	place  uint16
	bucket Bucket
}

// Split splits the groups of a phase in a forecast by the runtimes of the jobs
// that start, in buckets, so that groups stay few.
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
