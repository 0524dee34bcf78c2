package node

import (
	"testing"
	"time"
)

// TestShareOf: the shares of all jobs of a pack add up to how long it lasts, and a job
// that is left alone has all of the node.
func TestShareOf(t *testing.T) {
	t.Parallel()
	h := int64(time.Hour)
	for name, c := range map[string]struct {
		ends []int64 // of four jobs, after the beginning
		want []time.Duration
	}{
		"all at once":                   {[]int64{4 * h, 4 * h, 4 * h, 4 * h}, []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}},
		"one is slow":                   {[]int64{4 * h, 4 * h, 4 * h, 10 * h}, []time.Duration{time.Hour, time.Hour, time.Hour, 7 * time.Hour}},
		"one never began, two are slow": {[]int64{0, 3 * h, 5 * h, 5 * h}, []time.Duration{0, time.Hour, 2 * time.Hour, 2 * time.Hour}},
	} {
		times, sum := []int64{100}, time.Duration(0)
		for i, end := range c.ends {
			got := ShareOf(times, 4, 100+end)
			if sum += got; got != c.want[i] {
				t.Errorf("%s: job %d has %s, not %s", name, i, got, c.want[i])
			}
			times = append(times, 100+end)
		}
		if last := time.Duration(c.ends[3]); sum != last {
			t.Errorf("%s: the shares are %s of %s", name, sum, last)
		}
	}
}

// TestTimes: the processes of a pack share one file.
func TestTimes(t *testing.T) {
	t.Parallel()
	at, err := newTimes(2)
	if err != nil {
		t.Fatal(err)
	}
	defer at.file.Close()
	later := time.Now().Add(time.Hour)
	before := at.share(later)
	if err := at.over(); err != nil {
		t.Fatal(err)
	}
	if after := at.share(later); before <= 0 || after <= before {
		t.Errorf("%s with another, and %s alone", before, after)
	}
	if none := (times{}).share(later); none != 0 {
		t.Errorf("without a pack: %s", none)
	}
}

func TestPart(t *testing.T) {
	t.Parallel()
	cores := [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}
	if got := part(cores, 1, 2); len(got) != 2 || got[0][0] != 2 || got[1][1] != 7 {
		t.Errorf("%v", got)
	}
	if got := part(cores, 4, 5); len(got) != 0 {
		t.Errorf("fewer cores than parts: %v", got)
	}
}
