// Package refresh is the shell around the pure planner: it asks the backends,
// the file system and the secrets what the planner wants to know, in
// parallel and for free, and changes nothing. What cannot be asked is data,
// not an error.
package refresh

import (
	"context"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Input is what to ask about, and whom.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Provider func(backendType string) (providers.Provider, error)
	Options  planner.Options
	Now      time.Time
	// Cache is a folder for what is known of source files; "" = none.
	Cache string

	Refresh   bool // look for jobs and stat recorded outputs
	Verify    bool // open recorded outputs, too
	Preflight bool // check that jobs could run
	// Environ is where local jobs start from, for preflight; nil is os.Environ().
	Environ []string
	// Secrets reads a secret, to see that it can be read; nil uses apply's reader.
	Secrets func(lang.Secret) (string, error)
	// Waiting is told what is waited for after 400 ms; nil tells nobody.
	Waiting func(what string)
}

// A Result is what was found, in the form the planner takes it.
type Result struct {
	Observed planner.Observed
	Pools    []offer.Pool
	Quotes   []place.Quoted
	Diags    diag.List
}

// Observe asks everybody. It returns within the context's deadline; whoever
// has not answered by then is unreachable.
func Observe(ctx context.Context, in Input) Result { return Result{} }
