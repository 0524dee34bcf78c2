package cells

import "github.com/muster-run/muster/state"

// InFlightAs is the status of a job that a backend has or may have, by its
// record.
func InFlightAs(s state.Status) Status {
	switch s {
	case state.Submitting:
		return Submitting
	case state.Running:
		return Running
	case state.Verifying:
		return Verifying
	}
	return Queued // also a job that waits there for a person, or for another try
}

// HeldAs tells what holds a job apart: its failure, a cancel, or a person. A
// job without a record was held before it was ever launched.
func HeldAs(rec *state.Job) Status {
	if rec != nil {
		switch rec.Status {
		case state.Failed:
			return Failed
		case state.Cancelled:
			return Cancelled
		}
	}
	return Held
}

// RestsAs is the status of a job that a plan leaves as its record says, again
// telling whether it is tried again when it failed. One without a record is
// not launched: nothing is that the plan does not launch.
func RestsAs(rec *state.Job, again bool) Status {
	if rec == nil {
		return Skipped
	}
	switch rec.Status {
	case state.Completed:
		return Done
	case state.Failed:
		if !again {
			return Failed
		}
	case state.Cancelled:
		return Cancelled
	case state.Held:
		return Held
	}
	return Pending
}
