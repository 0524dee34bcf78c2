package node

import (
	"testing"
	"time"
)

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
