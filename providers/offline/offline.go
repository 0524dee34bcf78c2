// Package offline is a provider that answers from facts and drives nothing:
// campaigns for a type of backend are checked, placed and priced before this
// muster can run jobs there.
package offline

import (
	"context"
	"io"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Provider knows the pools of a type of backend from its profile or its
// settings. Whatever would touch the backend itself is refused.
type Provider struct {
	schema offer.Schema
	pools  func(providers.Backend) ([]offer.Pool, error)

	mu       sync.Mutex
	backends map[string]providers.Backend
}

// New makes a provider of a schema and of what gives a backend's pools.
func New(schema offer.Schema, pools func(providers.Backend) ([]offer.Pool, error)) *Provider {
	return &Provider{schema: schema, pools: pools, backends: map[string]providers.Backend{}}
}

var _ providers.Provider = (*Provider)(nil)

// refused is the answer to whatever would touch the backend.
func (p *Provider) refused() error {
	return &providers.Error{Class: providers.Invalid, Summary: "This muster does not drive " + p.schema.Type + " yet",
		Detail: "It checks and plans campaigns for it, from facts, and asks and starts nothing there."}
}

// Schema implements providers.Describer.
func (p *Provider) Schema(context.Context) (offer.Schema, error) { return p.schema, nil }

// Configure implements providers.Describer.
func (p *Provider) Configure(_ context.Context, b providers.Backend) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backends[b.Name] = b
	return nil
}

// Pools implements providers.Describer.
func (p *Provider) Pools(_ context.Context, backend string) ([]offer.Pool, error) {
	p.mu.Lock()
	b, ok := p.backends[backend]
	p.mu.Unlock()
	if !ok {
		return nil, providers.Errorf(providers.NotFound, "backend.%s is not configured", backend)
	}
	return p.pools(b)
}

// Quote implements providers.Describer: there is nobody to ask, so pools'
// facts must do.
func (p *Provider) Quote(context.Context, string, []offer.Shape) ([]offer.Quote, error) {
	return nil, nil
}

// Preflight implements providers.Describer; what nobody can see is not wrong.
func (p *Provider) Preflight(context.Context, string, []providers.Check) ([]providers.Finding, error) {
	return nil, nil
}

// Submit implements providers.Runner.
func (p *Provider) Submit(context.Context, providers.SubmitRequest) ([]providers.Submitted, error) {
	return nil, p.refused()
}

// Find implements providers.Runner.
func (p *Provider) Find(context.Context, string, []string) ([]offer.Observation, error) {
	return nil, p.refused()
}

// Watch implements providers.Runner.
func (p *Provider) Watch(context.Context, providers.WatchRequest, func(providers.Batch) error) error {
	return p.refused()
}

// Cancel implements providers.Runner.
func (p *Provider) Cancel(context.Context, providers.CancelRequest) ([]providers.Outcome, error) {
	return nil, p.refused()
}

// Control implements providers.Runner.
func (p *Provider) Control(context.Context, providers.ControlRequest) error { return p.refused() }

// Logs implements providers.Runner.
func (p *Provider) Logs(context.Context, providers.LogRequest, io.Writer) error { return p.refused() }

// Verify implements providers.Files.
func (p *Provider) Verify(context.Context, providers.VerifyRequest) ([]offer.Output, error) {
	return nil, p.refused()
}

// Push implements providers.Files.
func (p *Provider) Push(context.Context, string, string, int64, string, io.ReadSeeker) error {
	return p.refused()
}

// Pull implements providers.Files.
func (p *Provider) Pull(context.Context, string, string, int64, io.Writer) error { return p.refused() }

// List implements providers.Files.
func (p *Provider) List(context.Context, string, []string) ([]providers.FileInfo, error) {
	return nil, p.refused()
}

// Remove implements providers.Files.
func (p *Provider) Remove(context.Context, providers.RemoveRequest) error { return p.refused() }
