package main

import (
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/planner/apply"
)

// conclude says how a run ended and turns it into an exit code.
func (a *app) conclude(w *work, o apply.Outcome, asJSON bool) error {
	if !asJSON {
		a.printf("%s", page.Ending(w.plan, o, a.out.Width))
	} else {
		a.stream().Ended(o)
	}
	if w.plan.Destroy {
		o.Cancelled = 0 // that is what was asked for
	}
	return exitFor(o)
}

func exitFor(o apply.Outcome) error {
	switch o.Stopped {
	case apply.Interrupted:
		if o.Running+o.Queued+o.Left > 0 {
			return command.Interrupted
		}
	case apply.Budget:
		return command.Budget
	case apply.Beyond:
		return command.Changes
	case apply.LeaseLost:
		return command.Locked
	case apply.StoreFailed:
		return command.Failed
	case apply.Hold:
		return command.Held
	}
	if o.Held+o.Failed+o.Cancelled+o.Blocked+o.Undeleted > 0 {
		return command.Held
	}
	return nil
}
