package preview

import (
	"slices"
	"testing"
)

// TestCutIntoArrays: no array that is shown has more jobs than the cluster takes,
// and it is said how many there are.
func TestCutIntoArrays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs, most int
		apart      bool
		sizes      []int
		says       string
	}{
		{120, 50, false, []int{50, 50, 20}, ", 3 arrays like this one: 50 jobs each, the last 20"},
		{50, 50, false, []int{50}, ""},
		{1, 50, false, []int{1}, ""},
		{3, 50, true, []int{1}, ""}, // smokes, one after another
	} {
		l := likeJobs{count: c.jobs, apart: c.apart}
		if got := l.sizes(c.most); !slices.Equal(got, c.sizes) || l.cut(got) != c.says {
			t.Errorf("%d jobs, %d at most: %d, %q", c.jobs, c.most, got, l.cut(got))
		}
	}
}
