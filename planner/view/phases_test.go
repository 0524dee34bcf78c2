package view

import "testing"

// TestOthers: a list that may have been cut is not counted.
func TestOthers(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", " and 1 more", " and others", " and others"} {
		if got := others(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
