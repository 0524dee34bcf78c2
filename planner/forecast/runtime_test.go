package forecast

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func TestRuntimes(t *testing.T) {
	t.Parallel()
	m := time.Minute
	for _, c := range []struct {
		name                   string
		got                    Runtime
		expected, p90, ceiling time.Duration
		mark                   Mark
	}{
		{"declared 4h", Declared(4 * time.Hour), 2 * time.Hour, 4 * time.Hour, 4 * time.Hour, Estimated},
		{"declared nothing", Declared(0), 0, 0, 0, Unknown},
		{"one run of 10m", Observed("a", []time.Duration{10 * m}, time.Hour), 10 * m, 10*m + 150*time.Second, time.Hour, Estimated},
		{"eleven runs", Observed("a", []time.Duration{11 * m, 1 * m, 2 * m, 3 * m, 4 * m, 5 * m, 6 * m, 7 * m, 8 * m, 9 * m, 10 * m}, time.Hour), 6 * m, 10*m + 48*time.Second, time.Hour, Estimated},
		{"runs under a longer walltime than now", Observed("a", []time.Duration{50 * m, 70 * m}, time.Hour), time.Hour, time.Hour, time.Hour, Estimated},
		{"runs without a walltime", Observed("a", []time.Duration{50 * m}, 0), 50 * m, 62*m + 30*time.Second, 0, Estimated},
		{"a smoke of 1m with a sixtieth of the steps", Scaled("a", m, 60, 4*time.Hour), time.Hour, 75 * m, 4 * time.Hour, Estimated},
		{"a smoke that foretells more than the walltime", Scaled("a", m, 600, 4*time.Hour), 4 * time.Hour, 4 * time.Hour, 4 * time.Hour, Estimated},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.got.Expected != c.expected || c.got.P90 != c.p90 || c.got.Ceiling != c.ceiling || c.got.Mark != c.mark {
				t.Errorf("%+v", c.got)
			}
			if c.got.Basis == "" {
				t.Error("the plan could not say where this is from")
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	four := []time.Duration{40, 10, 30, 20}
	for _, c := range []struct {
		of   []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0}, {[]time.Duration{7}, 0.9, 7}, {four, 0, 10}, {four, 0.5, 25}, {four, 1, 40}, {four, 0.9, 37},
	} {
		if got := Quantile(c.of, c.q); got != c.want {
			t.Errorf("quantile %v of %v is %d, not %d", c.q, c.of, got, c.want)
		}
	}
	if four[0] != 40 {
		t.Error("the values were sorted in place")
	}
}

// TestNextStaysBelow holds that what is called p90 is not passed by more than
// one in ten of the next, however few were seen, and is not much too high.
func TestNextStaysBelow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	draw := func() time.Duration { return time.Duration(math.Exp(0.4*rnd.NormFloat64()) * float64(time.Hour)) }
	const rounds = 4000
	for _, n := range []int{2, 3, 5, 8, 9, 10, 20, 50} {
		below := 0
		for range rounds {
			seen := make([]time.Duration, n)
			for i := range seen {
				seen[i] = draw()
			}
			if draw() <= Observed("a", seen, 0).P90 {
				below++
			}
		}
		if share := float64(below) / rounds; share < 0.88 || share > 0.94 {
			t.Errorf("of %d runs: %.1f %% of the next stay below", n, 100*share)
		}
	}
}

// TestModelStaysBelow holds the same of a fitted model.
func TestModelStaysBelow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	draw := func(x float64) Point {
		return Point{[]float64{x}, time.Duration(x * math.Exp(0.2*rnd.NormFloat64()) * float64(time.Hour))}
	}
	axis := []float64{1, 2, 4, 8}
	for _, each := range []int{2, 4, 10} {
		below, all := 0, 0
		for range 2000 {
			var points []Point
			for _, x := range axis {
				for range each {
					points = append(points, draw(x))
				}
			}
			m, ok := Fit([]string{"x"}, points)
			if !ok {
				continue
			}
			for _, x := range axis {
				all++
				if _, p90, _ := m.Predict([]float64{x}); draw(x).Runtime <= p90 {
					below++
				}
			}
		}
		if share := float64(below) / float64(all); share < 0.88 || share > 0.92 {
			t.Errorf("of %d points: %.1f %% of the next stay below", 4*each, 100*share)
		}
	}
}

// TestFit finds t = 2 s · n^1.5 · d again, and its prediction elsewhere.
func TestFit(t *testing.T) {
	t.Parallel()
	law := func(n, d float64) time.Duration {
		return time.Duration(2 * math.Pow(n, 1.5) * d * float64(time.Second))
	}
	var points []Point
	for _, n := range []float64{1, 2, 4, 8} {
		for _, d := range []float64{1, 3, 10} {
			points = append(points, Point{[]float64{n, d}, law(n, d)})
		}
	}
	m, ok := Fit([]string{"n", "d"}, points)
	if !ok {
		t.Fatal("no fit")
	}
	if math.Abs(m.Coef[1]-1.5) > 1e-6 || math.Abs(m.Coef[2]-1) > 1e-6 {
		t.Errorf("exponents %v", m.Coef)
	}
	expected, p90, ok := m.Predict([]float64{16, 5})
	if want := law(16, 5); !ok || math.Abs(expected.Seconds()/want.Seconds()-1) > 1e-6 || p90 < expected {
		t.Errorf("predicts %v, p90 %v, not %v", expected, p90, want)
	}
	if text := m.Text("students"); !strings.Contains(text, "n^1.5 d^1 from 12 runs") {
		t.Errorf("%q", text)
	}
}

func TestNoFit(t *testing.T) {
	t.Parallel()
	s := time.Second
	at := func(x float64, d time.Duration) Point { return Point{[]float64{x}, d} }
	six := func(f func(i int) Point) []Point {
		var out []Point
		for i := range 6 {
			out = append(out, f(i))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		names  []string
		points []Point
	}{
		{"no axis", nil, six(func(i int) Point { return Point{nil, s} })},
		{"too few points", []string{"n"}, []Point{at(1, s), at(2, 2*s), at(3, 3*s)}},
		{"an axis that never varied", []string{"n"}, six(func(i int) Point { return at(2, time.Duration(i+1)*s) })},
		{"an axis with a zero", []string{"n"}, six(func(i int) Point { return at(float64(i), time.Duration(i+1)*s) })},
		{"a runtime of nothing", []string{"n"}, six(func(i int) Point { return at(float64(i+1), 0) })},
		{"runtimes that are all the same", []string{"n"}, six(func(i int) Point { return at(float64(i+1), s) })},
		{"runtimes that have nothing to do with it", []string{"n"}, six(func(i int) Point { return at(float64(i+1), time.Duration(1+i%2*9)*s) })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if m, ok := Fit(c.names, c.points); ok {
				t.Errorf("fits: %+v", m)
			}
		})
	}
}

func TestPredictStaysInBounds(t *testing.T) {
	t.Parallel()
	m := Model{Names: []string{"n"}, Coef: []float64{0, 1000}}
	if expected, _, ok := m.Predict([]float64{1e300}); !ok || expected <= 0 {
		t.Errorf("predicts %v", expected)
	}
	if _, _, ok := m.Predict([]float64{-1}); ok {
		t.Error("predicts below zero")
	}
}
