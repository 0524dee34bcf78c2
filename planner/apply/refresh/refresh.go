// Package refresh is the shell around the pure planner: it asks the backends,
// the file system and the secrets for the planner's facts, in parallel and for
// free, and changes nothing. A backend that cannot be asked is data, not an
// error.
package refresh

import (
	"context"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const (
	slowNotice = 400 * time.Millisecond // after this a wait is announced
	// askTimeout bounds all questions to one backend. A provider reports an unreachable
	// machine much earlier; a busy scheduler or login node takes its time, and a person may
	// interrupt.
	askTimeout = 2 * time.Minute
)

// Input is what to ask about, and whom.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Provider func(backendType string) (providers.Provider, error)
	Options  planner.Options
	Now      time.Time
	// Cache is a folder for digests of source files and for jobs that a listing left out; "" =
	// none.
	Cache string

	Refresh   bool // look for jobs and stat recorded outputs
	Verify    bool // open recorded outputs, too
	Preflight bool // check that jobs could run
	Adopt     bool // read files that jobs may adopt whatever their size
	Copies    bool // compare copies of the source with it
	// Environ is where local jobs start from, for preflight; nil is os.Environ().
	Environ []string
	// Here leaves every backend alone that is not this machine.
	Here bool
	// Secrets says why a secret of a job that is to start could not be read; nil
	// looks at none, since secrets are read when jobs are submitted.
	Secrets func(lang.Secret) error
	// Reads is nil for folders that may be read, and says why another may not. What
	// says what for; "" only asks. nil allows all.
	Reads func(dir, what string) error
	// Waiting is called, from any goroutine, with the name of a wait of more than 400 ms; may
	// be nil.
	Waiting func(what string)
}

// A Result is the findings, in the form that the planner takes.
type Result struct {
	Observed planner.Observed
	Pools    []offer.Pool
	Quotes   []place.Quoted
	Can      map[string]offer.Capabilities // by backend type
	Versions map[string]string             // of providers, by backend type
	Diags    diag.List
}

// Observe asks everybody at once. Whoever has not answered in askTimeout is
// unreachable.
func Observe(ctx context.Context, in Input) Result {
	f, as := newFacts(in), newAnswers(in)
	outs, im := &outputs{facts: f, answers: as}, &images{facts: f}
	raw := &rawInputs{facts: f, answers: as, seen: result.Contents{}}
	ss := newSources(f, as)
	k := &asker{facts: f, answers: as, outputs: outs, grounds: &grounds{f, as}, preflight: &preflight{f, as}, copies: &copies{f, as, ss}}
	asks := f.asks()
	var wg sync.WaitGroup
	for _, a := range asks {
		wg.Go(func() {
			k.ask(ctx, a)
			im.read(ctx, a)
			raw.there(ctx, a)
		})
	}
	wg.Go(func() { ss.read(ctx) })
	wg.Go(func() { raw.here(ctx) })
	var unread map[string]string
	wg.Go(func() { unread = f.secrets() })
	var found map[string][]observed.Script
	var warned diag.List
	wg.Go(func() { found, warned = f.scripts(asks) })
	wg.Wait()
	outs.confirm(ctx, asks)
	f.digests.Save()
	out := &as.Result
	out.Diags.Append(warned...)
	out.Observed.Secrets, out.Observed.Scripts = unread, found
	out.Observed.Contents = im.contents(raw.seen)
	out.Observed.Gone = f.goneSince(out.Observed.Jobs)
	as.sort()
	return *out
}
