package cluster

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// TestAsleep: nodes that are powered down take jobs, but not at once.
func TestAsleep(t *testing.T) {
	t.Parallel()
	s := &Facts{resume: seconds("600 sec")}
	for name, c := range map[string]struct {
		states []string
		nodes  int
		want   time.Duration
	}{
		"all asleep":           {[]string{"idle~", "idle~"}, 1, 10 * time.Minute},
		"one awake":            {[]string{"idle~", "idle"}, 1, 0},
		"one awake of two":     {[]string{"idle~", "idle"}, 2, 10 * time.Minute},
		"coming up":            {[]string{"idle#", "idle~"}, 1, 0},
		"going down":           {[]string{"idle%", "idle~"}, 1, 10 * time.Minute},
		"drained and asleep":   {[]string{"drained", "idle~"}, 1, 10 * time.Minute},
		"being cleaned up":     {[]string{"completing", "idle~"}, 1, 0},
		"none asleep, none up": {[]string{"allocated", "drained"}, 1, 0},
		"too few in all":       {[]string{"idle~"}, 2, 0},
	} {
		l := &Partition{Name: "p", GPUs: map[string]int{}}
		for i, state := range c.states {
			cpus := "0/64/0/64"
			if state == "allocated" || state == "completing" {
				cpus = "64/0/0/64"
			}
			l.add([]string{"n" + string(rune('1'+i)), "p", state, cpus, "1024", "(null)", "(null)", "(null)"})
		}
		if got := s.Resumes(l, offer.Shape{CPUs: c.nodes, Nodes: c.nodes}, ""); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	l := &Partition{Name: "p", GPUs: map[string]int{}}
	l.add([]string{"n1", "p", "idle~", "0/64/0/64", "1024", "(null)", "(null)", "(null)"})
	l.add([]string{"n2", "p", "idle", "0/64/0/64", "1024", "(null)", "(null)", "(null)"})
	if n, of := l.Asleep(); n != 1 || of != 2 {
		t.Errorf("%d of %d are asleep", n, of)
	}
}
