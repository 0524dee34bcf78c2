package main

import (
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/standing"
)

// conclude says how a run ended and turns it into an exit code.
func (a *app) conclude(w *work, o standing.Outcome, f applyFlags) error {
	if !f.json {
		a.printf("%s", page.Ending(w.plan, o, f.saved, w.campaign.Backends, a.out.Width))
	} else {
		a.stream().Ended(o)
	}
	if w.plan.Destroy {
		o.Cancelled = 0 // that is what was asked for
	}
	if o.Unknown > 0 && o.Stopped == standing.None && f.mode() == apply.Drive {
		return command.Held // their host left the configuration: no later answer comes by itself
	}
	return exitFor(o)
}

func exitFor(o standing.Outcome) error {
	switch o.Stopped {
	case standing.Interrupted:
		if o.Running+o.Waiting() > 0 {
			return command.Interrupted
		}
	case standing.Budget:
		return command.Budget
	case standing.Beyond:
		return command.Changes
	case standing.LeaseLost:
		return command.Locked
	case standing.StoreFailed:
		return command.Failed
	case standing.Hold:
		return command.Held
	}
	if o.Held+o.Failed+o.Cancelled+o.Blocked+o.Undeleted > 0 || o.Stranded() {
		return command.Held
	}
	return nil
}
