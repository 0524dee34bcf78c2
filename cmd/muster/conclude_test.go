package main

import (
	"testing"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/planner/apply/progress"
)

// TestExitFor: jobs whose backend cannot be asked are not done.
func TestExitFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    progress.Outcome
		want error
	}{
		"all done":                      {progress.Outcome{Total: 2, Done: 2}, nil},
		"a pass, and jobs run":          {progress.Outcome{Total: 2, Running: 2}, nil},
		"a pass that could not ask":     {progress.Outcome{Total: 2, Unknown: 2}, command.Held},
		"interrupted at work":           {progress.Outcome{Stopped: progress.Interrupted, Total: 2, Running: 1}, command.Interrupted},
		"interrupted, and cannot ask":   {progress.Outcome{Stopped: progress.Interrupted, Total: 2, Unknown: 2}, command.Interrupted},
		"interrupted, and all was done": {progress.Outcome{Stopped: progress.Interrupted, Total: 2, Done: 2}, nil},
		"submitted":                     {progress.Outcome{Stopped: progress.Detached, Total: 2, Queued: 2}, nil},
		"submitted, and one is unknown": {progress.Outcome{Stopped: progress.Detached, Total: 2, Queued: 1, Unknown: 1}, command.Held},
		"failed":                        {progress.Outcome{Total: 2, Done: 1, Failed: 1}, command.Held},
	} {
		if got := exitFor(c.o); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
