package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// connect returns providers by backend address, each configured once. A
// backend that left the campaign is reached with what the state kept of it.
func (a *app) connect(ctx context.Context, w *work, c *lang.Campaign, st *state.State) (func(backend string) (providers.Provider, error), error) {
	ready := map[string]providers.Provider{}
	provider := w.provider(ctx)
	return func(name string) (providers.Provider, error) {
		if p := ready[name]; p != nil {
			return p, nil
		}
		b, err := backendOf(c, st, name)
		if err != nil {
			return nil, err
		}
		p, err := provider(b.Type)
		if err != nil {
			return nil, err
		}
		if err := p.Configure(ctx, b); err != nil {
			return nil, fmt.Errorf("configure backend.%s: %w", name, err)
		}
		ready[name] = p
		return p, nil
	}, nil
}

func backendOf(c *lang.Campaign, st *state.State, name string) (providers.Backend, error) {
	for _, b := range c.Backends {
		if b.Address() == name {
			return site.Backend(c, b, st.Lineage), nil
		}
	}
	if kept, ok := st.Backends[name]; ok {
		var b providers.Backend
		if err := json.Unmarshal(kept.Config, &b); err != nil {
			return b, fmt.Errorf("read what the state keeps of backend.%s: %w", name, err)
		}
		return b, nil
	}
	return providers.Backend{}, command.Usagef("neither the campaign nor its state knows backend.%s", name)
}

func sortJobs(jobs []*state.Job) {
	slices.SortFunc(jobs, func(a, b *state.Job) int { return strings.Compare(a.Address, b.Address) })
}
