package observed

import "github.com/muster-run/muster/internal/diag"

// A Finding is what preflight found, attached to an address, and which jobs it
// is about.
type Finding struct {
	diag.Diagnostic
	Phase  string // "" = a backend as a whole
	On     string // it concerns what goes to this backend, "" = wherever it goes
	Pauses bool   // it keeps launches on the backend waiting, and is over one day
	Smoke  bool   // the phase's smokes, not its runs
	Cells  []int  // of the phase, increasing; nil = all
}
