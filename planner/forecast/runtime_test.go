package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
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

// TestMeanOfFewIsToldToBe: two kinds of jobs, or few unlike ones, leave their mean
// open, and the basis says how far.
func TestMeanOfFewIsToldToBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		minutes []float64
		want    string
	}{
		"alike":         {[]float64{10, 11, 9, 10}, ""},
		"two kinds":     {[]float64{1, 1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5}, "mean of 12 runs, which may be off by ±22 %, and"},
		"two runs":      {[]float64{1, 2}, "mean of 2 runs, which may be off by ±33 %, and"},
		"one run":       {[]float64{1}, ""},
		"no time":       {[]float64{0, 0, 0}, ""},
		"many, of both": {slices.Repeat([]float64{1, 5}, 30), ""},
	} {
		var seen []time.Duration
		for _, m := range c.minutes {
			seen = append(seen, minutes(m))
		}
		if got := Observed("a", seen, 0).Basis; strings.Contains(got, "may be off") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestWhatIsLeft: of a runtime, what was worked is taken off, and something is
// always left.
func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := Observed("a", []time.Duration{minutes(100), minutes(100), minutes(100)}, minutes(120))
	if got := r.After(minutes(60)); got.Expected != minutes(40) || got.P90 != r.P90-minutes(60) || got.Ceiling != minutes(60) {
		t.Errorf("after an hour: %+v", got)
	}
	if got := r.After(minutes(110)); got.Expected != minutes(5) || got.Ceiling < got.Expected {
		t.Errorf("after longer than expected: %+v", got)
	}
	if got := r.After(0); got.Expected != r.Expected || got.Ceiling != r.Ceiling {
		t.Errorf("after nothing: %+v", got)
	}
}
