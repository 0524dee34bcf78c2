package planner

// kindNames are the actions as machines read them.
var kindNames = [kinds]string{
	None: "none", Run: "run", Rerun: "rerun", Restart: "restart", Retry: "retry", Resubmit: "resubmit", Continue: "continue", Adopt: "adopt",
	Move: "move", Accept: "accept", HeldKind: "held", Blocked: "blocked", UnknownAt: "unknown", Missing: "missing", Bytes: "input_bytes_changed",
	Duplicate: "duplicate", Cancel: "cancel", Forget: "forget", Record: "record", Skipped: "not_selected",
}

// String is the action's name in JSON documents; it is part of their schema.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown_kind"
}
