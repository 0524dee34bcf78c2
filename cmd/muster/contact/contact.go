// Package contact reaches the backends of a campaign for commands that run
// nothing: it lists their pools, removes muster's files there, copies outputs
// from them and reads the logs of jobs.
package contact

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// Backends are those of a campaign, and those that left it, which are reached
// with their settings in its state.
type Backends struct {
	campaign *lang.Campaign
	state    *state.State
	provider func(kind string) (providers.Provider, error)

	mu    sync.Mutex // several logs are followed at once
	ready map[string]providers.Provider
}

// Of are the backends of a campaign, whose types are served by providers.
func Of(c *lang.Campaign, st *state.State, provider func(kind string) (providers.Provider, error)) *Backends {
	return &Backends{campaign: c, state: st, provider: provider, ready: map[string]providers.Provider{}}
}

// Reach is the provider of a backend by its address, configured once.
func (b *Backends) Reach(ctx context.Context, name string) (providers.Provider, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.ready[name]; p != nil {
		return p, nil
	}
	conf, err := b.config(name)
	if err != nil {
		return nil, err
	}
	p, err := b.provider(conf.Type)
	if err != nil {
		return nil, err
	}
	if err := p.Configure(ctx, conf); err != nil {
		return nil, fmt.Errorf("configure backend.%s: %w", name, err)
	}
	providers.Login(ctx, p, name)
	b.ready[name] = p
	return p, nil
}

// Config is a backend as the campaign has it, or as its state kept it.
func Config(c *lang.Campaign, st *state.State, name string) (providers.Backend, error) {
	return (&Backends{campaign: c, state: st}).config(name)
}

func (b *Backends) config(name string) (conf providers.Backend, err error) {
	defer func() { conf.Rented = site.Rented(b.state, name) }()
	if conf := b.declared(name); conf != nil {
		return site.Backend(b.campaign, conf, b.state.Lineage), nil
	}
	if kept, ok := b.state.Backends[name]; ok {
		if err := json.Unmarshal(kept.Config, &conf); err != nil {
			return conf, fmt.Errorf("read the recorded configuration of backend.%s: %w", name, err)
		}
		return conf, nil
	}
	return providers.Backend{}, command.Usagef("neither the campaign nor its state knows backend.%s", name)
}

// declared is a backend as the campaign has it, nil where it has it no more.
func (b *Backends) declared(name string) *lang.Backend {
	for _, conf := range b.campaign.Backends {
		if conf.Address() == name {
			return conf
		}
	}
	return nil
}

// Ask returns the backends' pools, or why they cannot be asked.
func (b *Backends) Ask(ctx context.Context, names []string) []page.Backend {
	out := make([]page.Backend, len(names))
	for i, name := range names {
		out[i] = page.Backend{Name: name}
		p, err := b.Reach(ctx, name)
		if err == nil {
			out[i].Pools, err = p.Pools(ctx, name)
		}
		if err != nil {
			out[i].Problem = providers.WithHint(err)
		}
		out[i].Pools = warnings.Stated(out[i].Pools, b.campaign.Backends)
	}
	return out
}

// Clean removes muster's files from a backend, and returns their list.
func (b *Backends) Clean(ctx context.Context, name string) ([]string, error) {
	p, err := b.Reach(ctx, name)
	if err != nil {
		return nil, err
	}
	cleaner, ok := p.(providers.Cleaner)
	if !ok {
		return nil, nil
	}
	return cleaner.Clean(ctx, name)
}
