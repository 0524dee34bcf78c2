package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// fill sets why the volume takes nothing more, "" for nothing.
func (w *world) fill(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = why
}

// began counts what started.
func (w *world) began() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.logs)
}

// TestFullVolumePausesLaunchesUntilThereIsRoom on a host, and on a scheduler's
// volume.
func TestFullVolumePausesLaunchesUntilThereIsRoom(t *testing.T) {
	// Requirement: STO-05
	t.Parallel()
	t.Run("host", func(t *testing.T) { fullAtFirst(t, false) })
	t.Run("scheduler", func(t *testing.T) { fullAtFirst(t, true) })
}

func fullAtFirst(t *testing.T, scheduler bool) {
	t.Parallel()
	s := newStage(t, chain)
	s.world.can.HostQueue, s.world.can.Arrays = !scheduler, scheduler
	s.world.fill("/data: 991 of 1000 inodes are in use")
	waited := false
	s.conf = func(c *Config) {
		show := c.Progress
		c.Progress = func(p progress.Snapshot) {
			show(p)
			for _, ph := range p.Phases {
				if strings.Contains(ph.Waits, "/data: 991 of 1000 inodes") && !waited {
					waited = true
					if n := s.world.began(); n != 0 {
						t.Errorf("%d jobs started on a full volume", n)
					}
					s.world.fill("")
				}
			}
		}
	}
	s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
	notes := strings.Join(s.notes, "\n")
	if !waited || !strings.Contains(notes, "starts nothing until its workdir takes files, and the others continue: /data") || !strings.Contains(notes, "workdir takes files again") || len(s.state().Pauses) != 0 {
		t.Errorf("waited %v, pauses %s\n%s", waited, text(s.state().Pauses), notes)
	}
}

func TestVolumeThatFillsHoldsWhatItsQueueHas(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.slots = 1
	// The first fails for want of room. The one that started after it, before
	// anybody knew, runs until the pause; the four in the queue do not start.
	s.world.result = func(providers.Job, int) jobResult {
		r := jobResult{exit: 1, class: "disk_full", hang: s.world.full != ""}
		s.world.full = "/data: the disk is full" // the caller holds mu
		return r
	}
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() != "paused" {
				return
			}
			s.world.mu.Lock()
			defer s.world.mu.Unlock()
			s.world.full, s.world.result = "", nil
			for _, j := range s.world.jobs {
				j.res.hang = false
			}
		}
	}
	o := s.must(t.Context())
	if o.Failed != 2 || o.Done != 4 {
		t.Errorf("outcome %+v\n%s", o, strings.Join(s.notes, "\n"))
	}
	s.agree()
}

func TestDetachNamesTheVolumeThatIsFull(t *testing.T) {
	t.Parallel()
	s := newStage(t, grid)
	s.world.fill("/data: the disk is full")
	s.conf = detached
	if o := s.must(t.Context()); o.Submitted != 0 || !strings.Contains(o.First, "takes no files: /data: the disk is full") {
		t.Errorf("outcome %+v", o)
	}
	if len(s.state().Pauses) != 1 {
		t.Errorf("the state does not say so: %s", text(s.state().Pauses))
	}
	s.conf = nil
	s.world.fill("")
	s.check(s.must(t.Context()), "end done=6 failed=0 held=0 blocked=0 left=0")
	if len(s.state().Pauses) != 0 {
		t.Errorf("the pause is not over: %s", text(s.state().Pauses))
	}
}

// TestWhatAQueueHoldsForNothingIsLetGo: the job was held for want of room, and
// there is room again; but its release was lost with the run that asked for it.
func TestWhatAQueueHoldsForNothingIsLetGo(t *testing.T) {
	t.Parallel()
	s := newStage(t, one)
	s.world.stall = true
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if ev.Kind() == "submitted" {
				stop()
			}
		}
	}
	s.must(ctx)
	s.world.mu.Lock()
	s.world.stall = false
	for _, j := range s.world.jobs {
		j.held = true
	}
	s.world.mu.Unlock()
	s.conf = nil
	ctx, stop = context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if o := s.must(ctx); o.Done != 1 || len(s.world.jobs) != 1 {
		t.Errorf("%d jobs: %+v", len(s.world.jobs), o)
	}
}
