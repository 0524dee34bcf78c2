// Package refresh is the shell around the pure planner: it asks the backends,
// the file system and the secrets what the planner wants to know, in
// parallel and for free, and changes nothing. What cannot be asked is data,
// not an error.
package refresh

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const (
	slowNotice = 400 * time.Millisecond // after this a wait is announced
	// askTimeout is for all that one backend is asked. What is away is told by its
	// provider much earlier; a busy scheduler or login node takes its time, and
	// who has had enough of waiting can say so.
	askTimeout = 2 * time.Minute
)

// Input is what to ask about, and whom.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Provider func(backendType string) (providers.Provider, error)
	Options  planner.Options
	Now      time.Time
	// Cache is a folder for what is known of source files and of jobs that
	// were not listed; "" = none.
	Cache string

	Refresh   bool // look for jobs and stat recorded outputs
	Verify    bool // open recorded outputs, too
	Preflight bool // check that jobs could run
	Digest    bool // read files of inputs whatever their size; else those beyond readAtOnce are not read
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
	// Waiting is told, from any goroutine, what is waited for after 400 ms;
	// nil tells nobody.
	Waiting func(what string)
}

// A Result is what was found, in the form the planner takes it.
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
	o := &observer{Input: in, trees: map[string]source.Tree{}, out: Result{Can: map[string]offer.Capabilities{}, Versions: map[string]string{}}}
	o.out.Observed = planner.Observed{
		Refreshed: in.Refresh, Jobs: map[string]offer.Observation{}, Unreachable: map[string]string{}, Unasked: map[string]bool{}, Outputs: map[string][]offer.Output{}, Touched: map[string][]offer.Output{},
		Sources: map[string]planner.SourceDigest{}, Secrets: map[string]string{}, Imported: map[string]offer.Observation{}, Uncopied: map[string][]string{}, Ground: map[string]observed.Ground{}, Replaced: map[string]bool{},
	}
	o.sourcesRead, o.digests = make(chan struct{}), openDigests(in.Cache)
	o.idle = o.finished()
	o.groups = questions.Groups(in.Campaign)
	asks := o.asks()
	var wg sync.WaitGroup
	for _, a := range asks {
		wg.Go(func() {
			o.ask(ctx, a)
			o.images(ctx, a)
		})
	}
	wg.Go(func() {
		defer close(o.sourcesRead)
		o.sources(ctx)
	})
	wg.Go(func() { o.rawFiles(ctx) })
	wg.Go(o.secrets)
	wg.Go(func() { o.scripts(asks) })
	wg.Wait()
	o.confirm(ctx, asks)
	o.contents()
	o.goneSince()
	o.sort()
	return o.out
}

// An observer collects answers; mu guards out and waits.
type observer struct {
	Input
	idle   map[string]bool // phases where every job is completed
	groups []questions.Group
	// trees are the sources by lang.Source.Key, whole once sourcesRead is closed.
	trees       map[string]source.Tree
	sourcesRead chan struct{}

	digests *digests

	mu         sync.Mutex
	out        Result
	seenImages []seenImage
	seenRaw    result.Contents
}

// announce tells of a wait that lasts; the returned function ends it.
func (o *observer) announce(what string) func() {
	if o.Waiting == nil {
		return func() {}
	}
	t := time.AfterFunc(slowNotice, func() { o.Waiting(what) })
	return func() { t.Stop() }
}

// sources digests every source tree of the campaign.
func (o *observer) sources(ctx context.Context) {
	all := map[string]*lang.Source{}
	if s := o.Campaign.Source; s != nil {
		all[s.Key()] = s
	}
	for _, p := range o.Campaign.Phases {
		if p.Source != nil {
			all[p.Source.Key()] = p.Source
		}
	}
	for key, s := range all {
		if err := o.reads(s.Dir, "read the source in"); err != nil {
			o.mu.Lock()
			o.out.Diags.Append(diag.Diagnostic{Summary: "the source is outside the checkout", Detail: providers.WithHint(err), Subject: s.Range.Ptr()})
			o.mu.Unlock()
			continue
		}
		done := o.announce("reading the source in " + s.Dir)
		spec := source.Of(o.Campaign, s)
		if o.Cache != "" {
			spec.Cache = o.Cache
		}
		t, err := source.Read(ctx, spec)
		done()
		if err != nil {
			o.mu.Lock()
			o.out.Diags.Append(diag.Diagnostic{Summary: "the source cannot be read", Detail: err.Error(), Subject: s.Range.Ptr()})
			o.mu.Unlock()
			continue
		}
		d := planner.SourceDigest{Digest: t.Digest, Files: len(t.Files), Bytes: t.Bytes}
		d.Commit, d.Dirty = source.Commit(ctx, s.Dir)
		o.mu.Lock()
		o.out.Observed.Sources[key], o.trees[key] = d, t
		if len(t.Files) == 0 {
			none := source.NoFiles(o.Campaign, s)
			if o.ranWith(t.Digest) { // by a version that only warned
				none.Severity = diag.Warning
			}
			o.out.Diags.Append(none)
		}
		o.mu.Unlock()
	}
}

// ranWith reports whether jobs are recorded with a source.
func (o *observer) ranWith(digest string) bool {
	if o.State == nil {
		return false
	}
	for _, j := range o.State.Jobs {
		if j.Source == digest {
			return true
		}
	}
	return false
}

// reads is Reads, where there is one.
func (o *observer) reads(dir, what string) error {
	if o.Reads == nil {
		return nil
	}
	return o.Reads(dir, what)
}

// secrets sees that every secret can be read.
func (o *observer) secrets() {
	if o.Secrets == nil {
		return
	}
	for _, p := range o.Campaign.Phases {
		if o.idle[p.Name] {
			continue
		}
		for _, s := range p.Secrets {
			if err := o.Secrets(s); err != nil {
				o.mu.Lock()
				o.out.Observed.Secrets[s.Name] = err.Error()
				o.mu.Unlock()
			}
		}
	}
}

// sort makes the answers independent of who was first.
func (o *observer) sort() {
	slices.SortFunc(o.out.Pools, func(a, b offer.Pool) int { return compare(a.Backend, b.Backend, a.Name, b.Name) })
	slices.SortStableFunc(o.out.Quotes, func(a, b place.Quoted) int {
		return compare(a.Quote.Backend, b.Quote.Backend, a.Quote.Pool, b.Quote.Pool)
	})
	slices.SortStableFunc(o.out.Observed.Findings, func(a, b observed.Finding) int { return compare(a.Address, b.Address, a.Summary, b.Summary) })
	slices.SortStableFunc(o.out.Diags, func(a, b diag.Diagnostic) int { return compare(a.Summary, b.Summary, a.Detail, b.Detail) })
}

func compare(a, b, c, d string) int {
	if n := strings.Compare(a, b); n != 0 {
		return n
	}
	return strings.Compare(c, d)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
