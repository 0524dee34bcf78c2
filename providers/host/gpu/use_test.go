package gpu

import (
	"testing"
	"time"
)

func TestWhatLooksSay(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		at    []time.Duration // looks of a launch that began at 100 s
		bytes []int64
		ended time.Duration
		want  int64
	}{
		"no look":                           {nil, nil, 101 * s, -1},
		"looks that told nothing":           {[]time.Duration{101 * s, 102 * s, 103 * s}, []int64{-1, -1, -1}, 104 * s, -1},
		"the most of them":                  {[]time.Duration{101 * s, 102 * s, 103 * s}, []int64{5, 9, 7}, 104 * s, 9},
		"one, near the end":                 {[]time.Duration{101 * s}, []int64{5}, 101*s + 200*time.Millisecond, 5},
		"long before the end":               {[]time.Duration{101 * s, 102 * s, 103 * s}, []int64{5, 5, 5}, 110 * s, -1},
		"nothing, three times":              {[]time.Duration{101 * s, 102 * s, 103 * s}, []int64{0, 0, 0}, 104 * s, 0},
		"nothing, twice":                    {[]time.Duration{101 * s, 102 * s}, []int64{0, 0}, 102*s + 1, -1},
		"nothing, and not known at the end": {[]time.Duration{101 * s, 102 * s, 103 * s, 110 * s}, []int64{0, 0, 0, -1}, 111 * s, -1},
	} {
		var u Use
		for i, at := range c.at {
			u.See(at, c.bytes[i])
		}
		if got := u.Bytes(100*s, c.ended); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Looks become rarer: some dozens in an hour, however long the launch.
func TestWhenUseIsDue(t *testing.T) {
	t.Parallel()
	var u Use
	looks := 0
	for at := time.Duration(0); at < time.Hour; at += 100 * time.Millisecond {
		if u.Due(0, at) {
			if gap := at - u.Looked; gap > useMost {
				t.Fatalf("nothing for %v at %v", gap, at)
			}
			u.See(at, 1)
			looks++
		}
	}
	if looks < 200 || looks > 300 {
		t.Errorf("%d looks in an hour", looks)
	}
}
