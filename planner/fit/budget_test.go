package fit

import (
	"math/rand/v2"
	"testing"
)

// TestBudget: fits share one budget, and none finds a law once it is spent.
func TestBudget(t *testing.T) {
	t.Parallel()
	points := runs(rand.New(rand.NewPCG(1, 2)), func(x []float64) float64 { return 3 * x[0] * x[1] }, 0.01, 6, doubled, doubled)
	fits := func(b *Budget) (n int) {
		for range 5 {
			if _, ok := Fit([]string{"n", "m"}, points, b); ok {
				n++
			}
		}
		return n
	}
	one := &Budget{}
	if fits(one) != 5 || one.Spent() {
		t.Fatalf("the usual budget does not have room for five small fits: %d", one.work)
	}
	some := &Budget{Most: one.work / 2}
	if n := fits(some); n != 2 || !some.Spent() {
		t.Errorf("half the work of five fits made %d of them", n)
	}
	if over := some.work - some.Most; over > one.work/5/4 {
		t.Errorf("the fit that spent the budget went on for %d of %d", over, one.work/5)
	}
}
