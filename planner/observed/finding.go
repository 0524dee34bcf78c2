package observed

import "github.com/muster-run/muster/internal/diag"

// A Finding is a fault that preflight found, attached to an address, and the
// jobs that it concerns.
type Finding struct {
	diag.Diagnostic
	Phase  string // "" = a backend as a whole
	On     string // it concerns jobs that go to this backend, "" = to any
	Pauses bool   // it keeps launches on the backend waiting, and is over one day
	Smoke  bool   // the phase's smokes, not its runs
	Cells  []int  // of the phase, increasing; nil = all
}
