package main

import (
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/planner/apply/progress"
)

// conclude says how a run ended and turns it into an exit code.
func (ap *applying) conclude(w *work, o progress.Outcome) error {
	if !ap.f.json {
		ap.printf("%s", page.Ending(w.plan, o, ap.f.saved, w.campaign.Backends, ap.out.Width))
	} else {
		ap.stream().Ended(o)
	}
	if w.plan.Destroy {
		o.Cancelled = 0 // the user asked for it
		if o.Stopped == progress.None && (len(page.Unended(w.plan)) > 0 || len(o.Rentals) > 0) {
			return command.Held
		}
	}
	return exitFor(o)
}

func exitFor(o progress.Outcome) error {
	switch o.Stopped {
	case progress.Interrupted:
		if o.Running+o.Unknown+o.Waiting() > 0 {
			return command.Interrupted
		}
	case progress.Budget:
		if o.Approval {
			return command.Changes
		}
		return command.Budget
	case progress.Beyond:
		return command.Changes
	case progress.LeaseLost:
		return command.Locked
	case progress.StoreFailed:
		return command.Failed
	case progress.Hold:
		return command.Held
	}
	if o.Held+o.Failed+o.Cancelled+o.Blocked+o.Changed+o.Unknown+o.Undeleted+o.Idle > 0 || o.Stranded() {
		return command.Held
	}
	return nil
}
