package apply

import (
	"context"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
)

// delayed is the grid with a delay before each retry.
func delayed(delay string) string {
	return strings.Replace(retrying(`"oom"`, ""), `delay = "1ms"`, `delay = "`+delay+`"`, 1)
}

// onNote calls f with every note.
func onNote(f func(progress.Snapshot)) func(*Config) {
	return func(c *Config) {
		show := c.Progress
		c.Progress = func(p progress.Snapshot) { show(p); f(p) }
	}
}

func TestCeilingOnLaunchesIsToldWhenItIsReached(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(delayed("0s"), "[1, 2, 3, 4, 5, 6]", "range(130)", 1))
	s.world.can.HostQueue, s.world.can.Retries, s.world.slots = false, false, 200
	s.world.result = func(_ providers.Job, launch int) jobResult { return jobResult{exit: 1, class: "oom_host"} }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	shown := false
	s.conf = onNote(func(p progress.Snapshot) {
		for _, ph := range p.Phases {
			shown = shown || strings.Contains(ph.Waits, "as many launches as it may have in a minute")
		}
		if shown {
			stop()
		}
	})
	if o := s.must(ctx); o.Stopped != progress.Interrupted {
		t.Errorf("outcome %+v", o)
	}
	told := 0
	for _, n := range s.notes {
		if strings.Contains(n, "waits: it had as many launches") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %s", told, strings.Join(s.notes[max(0, len(s.notes)-5):], "\n"))
	}
}

func TestDelayOfARetryHoldsForTheNextRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, delayed("1h"))
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.result = orOnly(`phase.a["n=1"]`, func(providers.Job, int) jobResult { return jobResult{exit: 1, class: "oom_host"} })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := 0
	s.conf = onNote(func(p progress.Snapshot) {
		for _, ph := range p.Phases {
			if done = ph.Done; done == 5 && ph.Waiting == 1 {
				stop()
			}
		}
	})
	if o := s.must(ctx); o.Stopped != progress.Interrupted || o.Left != 1 {
		t.Fatalf("outcome %+v", o)
	}
	s.conf = once
	o := s.must(t.Context())
	if o.Left != 1 || o.Next != "muster apply -once" || !strings.Contains(o.First, `phase.a["n=1"] is retried at `) {
		t.Errorf("outcome of a pass before the delay is over: %+v", o)
	}
	if n := s.world.runs[`phase.a["n=1"]`]; n != 1 {
		t.Errorf("%d launches within the delay", n)
	}
}

func TestRetryOfABrokenPhaseWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newStage(t, delayed("1h"))
	s.world.can.HostQueue, s.world.can.Retries = false, false
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Address == `phase.a["n=1"]` {
			return jobResult{exit: 1, class: "oom_host", hang: true}
		}
		return jobResult{exit: 1, class: "nan", tail: "loss is nan"}
	}
	s.conf = onNote(func(p progress.Snapshot) {
		if !strings.Contains(p.Note, "starts nothing more") {
			return
		}
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		for _, j := range s.world.jobs {
			j.res.hang = false
		}
		s.world.step()
	})
	o := s.must(t.Context())
	notes := strings.Join(s.notes, "\n")
	if o.Stopped != progress.None || o.Left == 0 || !strings.Contains(notes, "launch 2 of 3 waits for muster resume phase.a") || strings.Contains(notes, "in 1h") {
		t.Errorf("outcome %+v\n%s", o, notes)
	}
}
