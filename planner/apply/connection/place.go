// Package connection talks to one backend. It orders the calls to the provider,
// keeps its answers and its watch, and limits how many jobs it takes at once.
// It never starts, ends or judges a job by itself, and knows no phases.
package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const (
	// AskTimeout is for calls that a backend should answer at once. It is longer
	// than ssh's own patience, which knows why there is no answer.
	AskTimeout = time.Minute
	findMax    = 2000 // tokens of one Find call
)

// A Backend is one that is configured, as its provider knows it.
type Backend struct {
	Lang        *lang.Backend // nil when it left the campaign
	Name        string
	Conf        providers.Backend
	Provider    providers.Provider // nil until it answered
	Can         offer.Capabilities
	Env         []providers.EnvVar
	Offers      []offer.Pool
	Pools       map[string]offer.Pool      // the same, by name
	filesystems map[string]site.Filesystem // by pool
}

// An Acquaintance is a backend's description of itself.
type Acquaintance struct {
	Provider providers.Provider
	Can      offer.Capabilities
	Pools    []offer.Pool
}

// Probe asks a backend for its schema and pools. It may run anywhere.
func Probe(ctx context.Context, provider func(string) (providers.Provider, error), conf providers.Backend) (a Acquaintance, err error) {
	if a.Provider, err = provider(conf.Type); err != nil {
		return a, err
	}
	if err := a.introduce(ctx, conf); err != nil {
		return a, err
	}
	providers.Login(ctx, a.Provider, conf.Name)
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	a.Pools, err = a.Provider.Pools(ctx, conf.Name)
	return a, err
}

func (a *Acquaintance) introduce(ctx context.Context, conf providers.Backend) error {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	schema, err := a.Provider.Schema(ctx)
	if err != nil {
		return err
	}
	a.Can = schema.Can
	return a.Provider.Configure(ctx, conf)
}

// Meet notes the description that a place gave of itself.
func (c *Backend) Meet(a Acquaintance) {
	c.Provider, c.Can = a.Provider, a.Can
	c.Env = site.Env(c.Lang)
	c.Stock(a.Pools)
}

// Stock notes which pools a place says that it has now. Calls to it may be
// under way.
func (c *Backend) Stock(pools []offer.Pool) {
	c.Offers, c.filesystems = pools, nil
	c.Pools = map[string]offer.Pool{}
	for _, p := range pools {
		c.Pools[p.Name] = p
	}
}

// Recall takes a backend that left the campaign from the state.
func (c *Backend) Recall(st *state.State) error {
	kept, ok := st.Backends[c.Name]
	if !ok {
		return fmt.Errorf("backend.%s is in neither the campaign nor the state, but the plan names it", c.Name)
	}
	if err := json.Unmarshal(kept.Config, &c.Conf); err != nil {
		return fmt.Errorf("read backend.%s from the state: %w", c.Name, err)
	}
	c.Conf.Name, c.Conf.Type, c.Conf.Lineage = c.Name, kept.Type, st.Lineage
	c.Lang = &lang.Backend{Type: kept.Type, Workdir: c.Conf.Workdir, Setup: c.Conf.Setup, Env: c.Conf.Env, Config: c.Conf.Config}
	return nil
}

// Splits reports whether the place is several hosts that have a queue each.
func (c *Backend) Splits() bool {
	return c.Can.HostQueue && len(c.Offers) > 0 && c.Offers[0].Name != ""
}

// Filesystem is where the jobs of a pool leave their files.
func (c *Backend) Filesystem(pool string) site.Filesystem {
	s, ok := c.filesystems[pool]
	if !ok {
		s = site.FilesystemOf(c.Conf, c.Offers, pool)
		if c.filesystems == nil {
			c.filesystems = map[string]site.Filesystem{}
		}
		c.filesystems[pool] = s
	}
	return s
}

// Here reports whether a backend is muster's own machine.
func (c *Backend) Here() bool { return c.Conf.Type == "local" }

// SlotsOf is how many jobs a pool runs at once; all pools for "".
func (c *Backend) SlotsOf(pool string) int {
	slots := 0
	for _, p := range c.Offers {
		if pool != "" && p.Name != pool {
			continue
		}
		n := p.MaxJobs
		if n == 0 {
			n = p.Total
		}
		slots += n
	}
	if slots == 0 {
		slots = runtime.NumCPU()
	}
	if limit := c.Conf.MaxParallel; limit > 0 && limit < slots {
		slots = limit
	}
	return slots
}

// Find asks in pieces, so that a call stays well under the size of a message.
func (c *Backend) Find(ctx context.Context, tokens []string) ([]offer.Observation, error) {
	if c.Provider == nil {
		return nil, providers.Errorf(providers.Unreachable, "backend.%s is not configured", c.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	var out []offer.Observation
	for len(tokens) > 0 {
		n := min(len(tokens), findMax)
		obs, err := c.Provider.Find(ctx, c.Name, tokens[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, obs...)
		tokens = tokens[n:]
	}
	return out, nil
}
