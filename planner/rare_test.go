package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
)

// TestSegmentsHaveACheckpoint: of work that is cut into segments which all end
// before a checkpoint is due it is warned, and of no other.
func TestSegmentsHaveACheckpoint(t *testing.T) {
	// Requirement: WT-01
	t.Parallel()
	for name, c := range map[string]struct {
		checkpoint lang.Checkpoint
		most       time.Duration // of the pool
		warned     bool
	}{
		"too rare":         {lang.Checkpoint{Interval: 3 * time.Hour}, 2 * time.Hour, true},
		"by Young's rule":  {lang.Checkpoint{Auto: true, MTBF: 24 * time.Hour, WriteTime: 10 * time.Minute}, 2 * time.Hour, true},
		"often enough":     {lang.Checkpoint{Interval: time.Hour}, 2 * time.Hour, false},
		"told by a signal": {lang.Checkpoint{Interval: 3 * time.Hour, Signal: "USR1", Grace: time.Minute}, 2 * time.Hour, false},
		"not stated":       {lang.Checkpoint{}, 2 * time.Hour, false},
		"one segment":      {lang.Checkpoint{Interval: 3 * time.Hour}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(load(t, nil, phaseSpec{name: "a", lr: "1", wall: "5h", mod: func(p *lang.Phase) { p.Checkpoint = &c.checkpoint }}), nil)
			in.Pools[0].MaxTime = c.most
			p, diags := Make(in)
			if segments := p.Phases[0].Decision(0).Segments; segments > 1 != (c.most > 0) {
				t.Fatalf("%d segments", segments)
			}
			warned := false
			for _, d := range diags {
				warned = warned || strings.Contains(d.Detail, "no segment would have a checkpoint to continue from")
			}
			if warned != c.warned {
				t.Errorf("warned: %v, of %v", warned, diags)
			}
		})
	}
}
