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
	type span struct{ from, to int64 } // of a job, after the beginning
	for name, c := range map[string]struct {
		jobs []span
		want []time.Duration
	}{
		"all at once":                   {[]span{{0, 4 * h}, {0, 4 * h}, {0, 4 * h}, {0, 4 * h}}, []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}},
		"one is slow":                   {[]span{{0, 4 * h}, {0, 4 * h}, {0, 4 * h}, {0, 10 * h}}, []time.Duration{time.Hour, time.Hour, time.Hour, 7 * time.Hour}},
		"one never began, two are slow": {[]span{{0, 0}, {0, 3 * h}, {0, 5 * h}, {0, 5 * h}}, []time.Duration{0, time.Hour, 2 * time.Hour, 2 * time.Hour}},
		"turns in two slots":            {[]span{{0, 2 * h}, {2 * h, 4 * h}, {0, 4 * h}, {4 * h, 6 * h}}, []time.Duration{time.Hour, time.Hour, 2 * time.Hour, 2 * time.Hour}},
		"turns in one slot":             {[]span{{0, h}, {h, 3 * h}, {3 * h, 4 * h}, {4 * h, 4 * h}}, []time.Duration{time.Hour, 2 * time.Hour, time.Hour, 0}},
	} {
		var changes []Change
		last := int64(0)
		for _, j := range c.jobs {
			changes = append(changes, Change{100 + j.from, 1}, Change{100 + j.to, -1})
			last = max(last, j.to)
		}
		sum := time.Duration(0)
		for i, j := range c.jobs {
			got := ShareOf(changes, 100+j.from, 100+j.to)
			if sum += got; got != c.want[i] {
				t.Errorf("%s: job %d has %s, not %s", name, i, got, c.want[i])
			}
		}
		if sum != time.Duration(last) {
			t.Errorf("%s: the shares are %s of %s", name, sum, time.Duration(last))
		}
	}
}

// TestTimes: the processes of a pack share one file.
func TestTimes(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at, err := newTimes(2)
	if err != nil {
		t.Fatal(err)
	}
	defer at.file.Close()
	at, later := at.since(began), time.Now().Add(time.Hour)
	before := at.share(later)
	if err := at.note(1); err != nil {
		t.Fatal(err)
	}
	if after := at.share(later); before <= 0 || after <= before {
		t.Errorf("%s with another, and %s alone", before, after)
	}
	if second := at.since(later.Add(-time.Minute)).share(later); second != time.Minute {
		t.Errorf("one that had its slot a minute ago has %s", second)
	}
	if none := (times{}).share(later); none != 0 {
		t.Errorf("without a pack: %s", none)
	}
}

// TestPackMayBegin: no job begins that may not end before its allocation does.
func TestPackMayBegin(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		end  time.Time
		want bool
	}{
		"begins with its pack":   {time.Time{}, true},
		"just in time":           {now.Add(time.Hour), true},
		"a second is missing":    {now.Add(time.Hour - time.Second), false},
		"its allocation is over": {now.Add(-time.Hour), false},
	} {
		if got := mayBegin(time.Hour, now, c.end); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
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
