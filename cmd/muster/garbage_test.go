package main

import "testing"

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 50 << 20: 100, 96 << 20: 100, 192 << 20: 50, 4 << 30: 25} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB live: %d %%, want %d %%", live>>20, got, want)
		}
	}
}
