package page

import "testing"

// TestAsked: what jobs asked for is one amount, or from the least to the most.
func TestAsked(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]useReport{
		"64GB":         {What: "memory", Asked: 64e9, Least: 64e9},
		"12GB to 64GB": {What: "memory", Asked: 64e9, Least: 12e9},
		"up to 64GB":   {What: "memory", Asked: 64e9},
		"–":            {What: "memory"},
		"1h to 6h":     {What: "walltime", Asked: 6 * 3600, Least: 3600},
	} {
		if got := askedText(u); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}

// TestUsed: an amount that nobody measured says so, and why where that is known.
func TestUsed(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]useReport{
		"34MiB":                {What: "memory", Measured: 1, Short: 4},
		"not measured":         {What: "memory"},
		"too short to measure": {What: "memory", Short: 5},
	} {
		if got := usedText(u, 34<<20); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}
