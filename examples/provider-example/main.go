// Command muster-provider-example is a complete provider in a few hundred lines: it runs jobs
// as plain processes of this machine. It is meant to be copied. It lacks parts of a real
// backend: limits on CPUs and memory, GPUs, retries, dependencies, walltimes.
//
// Its one idea: everything it knows is in files, one folder a job, and on the disk before it
// is reported. The process may be killed at any moment; the next one reads the folders and
// continues.
package main

import (
	"context"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sdk"
)

const version = "0.1.0"

func main() { sdk.Serve(newExample()) }

// example serves every backend of type "example".
type example struct {
	mu       sync.Mutex
	backends map[string]*backend
}

var (
	_ providers.Provider = (*example)(nil)
	_ providers.Cleaner  = (*example)(nil)
)

func newExample() *example { return &example{backends: map[string]*backend{}} }

// Close is called by the SDK at the end. Jobs go on.
func (x *example) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range x.backends {
		b.stop()
	}
	return nil
}

func (x *example) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{
		Type: "example", Version: version,
		Config: offer.Block{Attrs: []offer.Attr{{
			Name: "greeting", Type: offer.String, Default: `"hello"`, Doc: "A word that jobs find in $EXAMPLE_GREETING.",
		}}},
		Can: offer.Capabilities{Transfer: true, Holds: true, Guard: true},
	}, nil
}

// Configure may come again for a backend that is known: it changes nothing
// that runs.
func (x *example) Configure(_ context.Context, c providers.Backend) error {
	b, err := open(c)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if old := x.backends[c.Name]; old != nil {
		old.stop()
	}
	x.backends[c.Name] = b
	return nil
}

func (x *example) at(name string) (*backend, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b := x.backends[name]; b != nil {
		return b, nil
	}
	return nil, providers.Errorf(providers.Invalid, "Backend %s is not configured", name)
}

// guarded is a backend whose lock is held, for a request of the muster that holds
// the fence.
func (x *example) guarded(name string, fence uint64, holder string) (b *backend, unlock func(), err error) {
	if b, err = x.at(name); err != nil {
		return nil, nil, err
	}
	b.mu.Lock()
	if err := b.guard(fence, holder); err != nil {
		b.mu.Unlock()
		return nil, nil, err
	}
	return b, b.mu.Unlock, nil
}

func (x *example) Pools(_ context.Context, backend string) ([]offer.Pool, error) {
	b, err := x.at(backend)
	if err != nil {
		return nil, err
	}
	return []offer.Pool{{
		Backend: backend, Kind: offer.MachinePool, Word: "machine", MaxNodes: 1, MaxJobs: b.slots, Idle: -1, Wait: -1,
		Price: offer.Price{Known: true}, Source: "live",
	}}, nil
}

func (x *example) Quote(_ context.Context, backend string, shapes []offer.Shape) ([]offer.Quote, error) {
	out := make([]offer.Quote, len(shapes))
	for i, s := range shapes {
		out[i] = offer.Quote{Backend: backend, Shape: i, Fits: true, Price: offer.Price{Known: true}, Wait: -1}
		if s.GPUs > 0 {
			out[i].Fits, out[i].Why, out[i].Would = false, "the example provider has no GPUs", "choose another backend"
		}
	}
	return out, nil
}

// Preflight checks for things that a job would miss.
func (x *example) Preflight(_ context.Context, backend string, checks []providers.Check) ([]providers.Finding, error) {
	if _, err := x.at(backend); err != nil {
		return nil, err
	}
	var out []providers.Finding
	for i, c := range checks {
		for _, r := range c.Require {
			if why := missing(r); why != "" {
				out = append(out, providers.Finding{Check: i, Summary: "A file that the job needs is not there", Detail: why})
			}
		}
	}
	return out, nil
}
