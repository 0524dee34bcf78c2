package arrays

import (
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit          int
		sizes          []int
		shares, behind []int
	}{
		{20, []int{50, 50}, []int{10, 10}, []int{-1, -1}},
		{20, []int{90, 10}, []int{18, 2}, []int{-1, -1}},
		{5, []int{1000, 1}, []int{4, 1}, []int{-1, -1}},
		{100, []int{3, 4}, []int{3, 4}, []int{-1, -1}},
		{8, []int{2, 50, 2}, []int{2, 5, 1}, []int{-1, -1, -1}},
		{1, []int{5, 5, 5}, []int{1, 1, 1}, []int{-1, 0, 1}},
		{2, []int{5, 5, 5}, []int{1, 1, 1}, []int{-1, -1, 0}},
		{7, []int{3}, []int{3}, []int{-1}},
	} {
		shares, behind := Spread(c.limit, c.sizes)
		total := sum(shares)
		if !slices.Equal(behind, c.behind) || total > c.limit && c.limit >= len(c.sizes) {
			t.Errorf("spread(%d, %v) = %v, %v; want %v, %v", c.limit, c.sizes, shares, behind, c.shares, c.behind)
		}
		if !slices.Equal(shares, c.shares) {
			t.Errorf("spread(%d, %v) = %v, want %v", c.limit, c.sizes, shares, c.shares)
		}
	}
}
