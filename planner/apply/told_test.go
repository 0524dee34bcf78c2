package apply

import (
	"testing"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// A crash right after an event leaves behind all that a watcher was shown.
func TestNothingIsToldBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
phase "a" {
  grid { axes = { n = range(20) } }
  job {
    command = "run ${cell.n}"
    output "o" { path = "${cell.n}.txt" }
    resources { walltime = "1m" }
  }
}
phase "b" {
  grid { axes = { n = range(20) } }
  job {
    command = "run ${input.i}"
    input "i" { from = phase.a.output.o }
    resources { walltime = "1m" }
  }
}`)
	events, most := 0, 0
	s.conf = func(c *Config) {
		note := c.Progress
		c.Event = func(state.Event) {
			if events++; events > len(s.disk.events) {
				t.Errorf("%d events were told, %d are durable", events, len(s.disk.events))
			}
		}
		c.Progress = func(p progress.Snapshot) {
			note(p)
			done := 0
			for _, ph := range p.Phases {
				done += ph.Done
			}
			durable := 0
			for _, j := range s.state().Jobs {
				if j.Status == state.Completed {
					durable++
				}
			}
			if done > durable {
				t.Errorf("%d jobs were shown as done, %d are in the state", done, durable)
			}
			most = max(most, done)
		}
	}
	s.check(s.must(t.Context()), "end done=40 failed=0 held=0 blocked=0 left=0")
	if most != 40 || events != len(s.disk.events) {
		t.Errorf("shown: %d jobs done; told: %d events of %d", most, events, len(s.disk.events))
	}
}
