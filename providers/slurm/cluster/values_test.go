package cluster

import (
	"slices"
	"testing"
	"time"
)

func TestIndexes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int{"N/A": {-1}, "": {-1}, "3": {3}, "[0-2]": {0, 1, 2}, "0-8:4%50": {0, 4, 8}, "1,5,7-9%2]": {1, 5, 7, 8, 9}} {
		if got, err := ParseIndexes(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"a", "3-", "5-2", "0-99999999", "1..3", "1:0", "-4"} {
		if got, err := ParseIndexes(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
	for _, in := range [][]int{{0}, {0, 1, 2}, {0, 2, 3, 9}, {5, 7}} {
		if got, err := ParseIndexes(FormatIndexes(in)); err != nil || !slices.Equal(got, in) {
			t.Errorf("%v is written %s and read %v, %v", in, FormatIndexes(in), got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	// Requirement: E14
	t.Parallel()
	for in, want := range map[string]time.Duration{"7-00:00:00": 168 * time.Hour, "01:00:00": time.Hour, "30": 30 * time.Minute, "5:30": 5*time.Minute + 30*time.Second,
		"UNLIMITED": 0, "1-12": 36 * time.Hour, "2-01:30": 49*time.Hour + 30*time.Minute, "": 0, "NONE": 0} {
		if got := parseLimit(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "0-00:01:00", 24 * time.Hour: "1-00:00:00", 90 * time.Minute: "0-01:30:00", 49*time.Hour + time.Second: "2-01:01:00"} {
		if got := FormatLimit(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
	for in, want := range map[string]time.Duration{"00:00.004": 4 * time.Millisecond, "01:02:03": time.Hour + 2*time.Minute + 3*time.Second, "x": -1, "": -1} {
		if got := parseClock(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]int64{"1234K": 1234 << 10, "1.50M": 3 << 19, "512": 512, "2000Mn": 2000 << 20, "": -1, "x": -1} {
		if got := parseKilo(in); got != want {
			t.Errorf("%q is %d, want %d", in, got, want)
		}
	}
}
