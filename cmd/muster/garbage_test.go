package main

import "testing"

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 40 << 20: 100, 48 << 20: 100, 96 << 20: 50, 4 << 30: 15} {
		if got := percentFor(live, 48<<20); got != want {
			t.Errorf("%d MiB live: %d %%, want %d %%", live>>20, got, want)
		}
	}
}
