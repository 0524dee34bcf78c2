package providers

import "testing"

// TestFenceOfACopy: of two holders with one number the first stays, whichever
// asks again; a larger number wins over both.
func TestFenceOfACopy(t *testing.T) {
	t.Parallel()
	var f Fence
	for i, c := range []struct {
		n      uint64
		holder string
		ok     bool
	}{
		{5, "", true}, {5, "a", true}, {5, "a", true}, {5, "b", false}, {5, "", true}, {5, "b", false}, {4, "a", false}, {4, "", false},
		{6, "b", true}, {5, "a", false}, {6, "a", false}, {7, "a", true}, {6, "b", false}, {7, "b", false}, {8, "", true}, {8, "b", true}, {8, "a", false},
	} {
		next, changed, err := f.Admit(c.n, c.holder)
		if (err == nil) != c.ok || changed != (next != f) || err != nil && changed {
			t.Errorf("%d: %d %q after %+v: %+v %v", i, c.n, c.holder, f, next, err)
		}
		f = next
	}
}
