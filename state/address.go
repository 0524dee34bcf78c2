package state

// EventAddress is the key in State.Jobs of the job an event is about, or ""
// for facts of the campaign as a whole.
func EventAddress(e Event) string {
	switch e := e.(type) {
	case Intended:
		if e.Job.Smoke {
			return SmokeAddress(e.Job.Address)
		}
		return e.Job.Address
	case Submitted:
		return e.Address
	case NotSubmitted:
		return e.Address
	case Observed:
		return e.Address
	case HeldJob:
		return e.Address
	case Freed:
		return e.Address
	case MovedJob:
		return e.To
	case Forgot:
		return e.Address
	case Accepted:
		return e.Address
	case Reused:
		return e.Job.Address
	case MetricsRead:
		return e.Address
	case OutputsSeen:
		return e.Address
	case Validated:
		return e.Address
	case Overrode:
		return e.Address
	case Noted:
		return e.Address
	case Spent:
		return e.Address
	}
	return ""
}
