package planner

// A Kind is the action of a plan on one job. One byte a job.
type Kind uint8

// The kinds, in the order of the diff table.
const (
	None       Kind = iota // unchanged
	Run                    // + run
	Rerun                  // ± re-run
	Restart                // ± cancel and re-run
	Retry                  // ↻ retry
	Resubmit               // ~ resubmit
	Continue               // … continue
	Adopt                  // + adopt
	Move                   // → moved
	Accept                 // ≈ accept
	HeldKind               // ! held
	Blocked                // ⊘ blocked
	UnknownAt              // ? unknown: its backend cannot be asked
	Missing                // ? missing
	Bytes                  // ≠ input bytes changed
	Duplicate              // ! duplicate
	Cancel                 // - cancel
	Forget                 // - forget
	Record                 // verify and record jobs that ended while nobody looked
	Skipped                // not selected by -target
	Altered                // ≠ output changed
	Restore                // ⟲ restore: a result that was replaced is put back
	AdoptFiles             // + adopt: files that are there become a job's result
	kinds
)

// kindNames are the actions as machines read them.
var kindNames = [kinds]string{
	None: "none", Run: "run", Rerun: "rerun", Restart: "restart", Retry: "retry", Resubmit: "resubmit", Continue: "continue", Adopt: "adopt",
	Move: "move", Accept: "accept", HeldKind: "held", Blocked: "blocked", UnknownAt: "unknown", Missing: "missing", Bytes: "input_bytes_changed",
	Duplicate: "duplicate", Cancel: "cancel", Forget: "forget", Record: "record", Skipped: "not_selected", Altered: "output_changed", Restore: "restore", AdoptFiles: "adopt_files",
}

// String is the action's name in JSON documents; it is part of their schema.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown_kind"
}

// Starts reports whether an action launches something.
func (k Kind) Starts() bool {
	switch k {
	case Run, Rerun, Restart, Retry, Resubmit:
		return true
	}
	return false
}

// InFlight reports whether an action leaves a job with its backend and goes on with it: its
// possible cost is in the plan's figures, and in its ceiling.
func (k Kind) InFlight() bool {
	return k == Continue || k == UnknownAt || k == Adopt || k == Duplicate
}

// Destroys reports whether an action cancels something or replaces results.
func (k Kind) Destroys() bool { return k == Rerun || k == Restart || k == Cancel }
