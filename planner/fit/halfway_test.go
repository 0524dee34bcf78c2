package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBetweenItemsAndPairs: seven sizes that ran once each tell what twice the
// largest takes of a cost that grows with the power 1.5 beside a constant, where
// the noise leaves it to be seen (a fitted exponent is a number more than so few
// runs bear); and a cost of each item or of each pair is taken for none such.
func TestBetweenItemsAndPairs(t *testing.T) {
	t.Parallel()
	sizes := []float64{1, 2, 4, 6, 8, 12, 16}
	for _, c := range []struct {
		constant, power, noise float64
		most                   float64 // median error; before there was such a law 2, 10, 42, 30 and 61 % of the first five
		held                   int     // of 100, at p90
	}{
		{2, 1.5, 0.02, 0.03, 90}, {2, 1.5, 0.05, 0.04, 90}, {10, 1.5, 0.05, 0.06, 85}, {50, 1.5, 0.02, 0.04, 85}, {2, 1.5, 0.10, 0.20, 75},
		{10, 1, 0.02, 0.04, 85}, {10, 1, 0.05, 0.06, 85}, {50, 1, 0.02, 0.06, 85}, {2, 1, 0.10, 0.10, 80},
		{2, 2, 0.05, 0.06, 85}, {10, 2, 0.05, 0.06, 85}, {50, 2, 0.05, 0.06, 85}, {50, 2, 0.10, 0.08, 80},
	} {
		rnd := rand.New(rand.NewPCG(8, 9))
		takes := func(x []float64) float64 { return c.constant + math.Pow(x[0], c.power) }
		far, held := []float64{32}, 0
		var off []float64
		for range 100 {
			m, ok := Fit([]string{"n"}, runs(rnd, takes, c.noise, 1, sizes), nil)
			if !ok {
				continue
			}
			log, unsure := m.At(far)
			off = append(off, math.Abs(log-math.Log(takes(far))))
			if log+1.28*math.Hypot(unsure, m.Spread) >= math.Log(takes(far)) {
				held++
			}
		}
		slices.Sort(off)
		if len(off) < 95 || off[len(off)/2] > c.most || held < c.held*len(off)/100 {
			t.Errorf("%g + n^%g, noise %.0f %%: off by %.0f %% in the median of %d, and p90 holds in %d", c.constant, c.power, 100*c.noise, 100*off[len(off)/2], len(off), held)
		}
	}
}
