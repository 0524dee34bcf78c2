// Package apply carries out a plan. It submits approved jobs, watches, retries
// and records them, and never starts one twice.
package apply

import (
	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A Mode is how far a run goes.
type Mode int

// The modes. Drive stays until the campaign is done, held or failed; Once makes one pass over
// the approved plan; Detach submits all that runs without muster and leaves.
const (
	Drive Mode = iota
	Once
	Detach
)

// Config is everything a run needs. Plan, Campaign, Session and Provider are
// required; the zero value of the rest works.
type Config struct {
	Plan     *planner.Plan
	Campaign *lang.Campaign
	Session  store.Session
	// Provider returns the provider that serves a type of backend.
	Provider func(backendType string) (providers.Provider, error)

	Mode   Mode
	Who    string // for approvals and holds
	Host   string
	Muster string         // version, recorded in the state
	At     state.Revision // of the campaign's folder, recorded with the approval
	Saved  bool           // the plan was read from a file
	// Away is why backends cannot be asked, as the plan that was just shown says.
	Away map[string]string
	// Rentals are rented machines as their providers just said, by backend.
	Rentals map[string][]offer.Rental
	// Variables are recorded as the variables of this apply; nil means
	// Campaign.Variables.
	Variables map[string]state.Variable

	AllowRerun  bool // Once: re-running completed jobs is covered
	AllowCancel bool // Once: ending running jobs is covered

	// Progress is called from the loop, at most every 100 ms, at notes and
	// once at the end. It must be cheap and must not keep the value's slices.
	// It tells nothing that a crash could take back.
	Progress func(progress.Snapshot)
	// Event is called from the loop for every fact folded into the state, once
	// the store holds it durably.
	Event func(state.Event)

	// Common opens the budgets that the campaign of a lineage shares with others; nil
	// = none.
	Common func(lineage string) ledger.Common
	// Secrets reads a secret at submission; nil uses site.Secret.
	Secrets func(lang.Secret) (string, error)
	// Environ is where a local job's environment starts from; nil is os.Environ().
	Environ []string
	// Cache is a folder for digests of files that no phase makes; "" keeps none.
	Cache string
	// Reads says why a folder outside the campaign's may not be read, nil where it
	// may. nil allows none.
	Reads func(dir, what string) error
	// Requests is the folder through which hold, resume, cancel and override
	// reach a running apply; "" = none.
	Requests string
	// Play takes sources as copied: simulated jobs read none.
	Play bool
	// Time is the clock of the run; nil is clock.Wall. With a virtual clock every
	// provider must use the same one, and Requests is not served.
	Time clock.Clock
	// Mint makes a token; nil mints 128 random bits.
	Mint func() string
}
