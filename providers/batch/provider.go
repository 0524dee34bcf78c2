// Package batch is a provider for clusters with a batch scheduler. It runs on a
// machine that has the scheduler's commands and sees the workdir: a login node.
// It submits alike jobs as one array with the scheduler's own dependencies, and
// keeps a record of each job in a spool in the workdir, so that the cluster
// finishes a campaign with muster off. It reaches the scheduler only through
// package scheduler.
package batch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/room"
)

// A Provider is the provider of one type of scheduler.
type Provider struct {
	machine.Files
	options  Options
	mu       sync.Mutex
	backends map[string]*backend
	nodes    programs.Nodes
}

// Options change how a cluster is reached, for tests and for an agent.
type Options struct {
	// Type is the scheduler.
	Type scheduler.Type
	// Agent is the subcommand of this program that runs one element on a node;
	// default "provider node".
	Agent []string
	// Program is the path of the program that runs on nodes; default: this
	// program.
	Program string
	// Programs returns the program for nodes of another processor, by Go's name of
	// it. nil: whoever started this agent puts it into the workdir.
	Programs func(arch string) ([]byte, error)
	// Environ is the environment of the scheduler's commands, and so of every job;
	// nil = that of this process.
	Environ func() []string
	// Floor is the least time between two looks at the queue; default 15 s.
	Floor time.Duration
}

// backend is one configured backend.
type backend struct {
	providers.Backend
	site     scheduler.Site
	campaign *campaign
	waits    map[string]time.Duration // longest, by pool, that the block sets
	longest  time.Duration            // allocation in which jobs take turns; 0 = none do
}

// New makes a provider.
func New(o Options) *Provider {
	if o.Agent == nil {
		o.Agent = []string{"provider", "node"}
	}
	s := &Provider{options: o, backends: map[string]*backend{}, nodes: programs.Nodes{Carried: o.Programs, Pool: o.Type.Node().Words().Pool}}
	s.Files.Workdir = s.workdir
	return s
}

func (s *Provider) workdir(name string) (string, error) {
	b, err := s.backend(name)
	if err != nil {
		return "", err
	}
	return b.Workdir, nil
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Cleaner  = (*Provider)(nil)
)

// Schema says what the backend block and a job's options may hold.
func (s *Provider) Schema(context.Context) (offer.Schema, error) { return s.options.Type.Schema(), nil }

// Configure adds a backend, or changes its configuration.
func (s *Provider) Configure(_ context.Context, b providers.Backend) error {
	workdir, err := machine.Expand(cmp.Or(b.Workdir, b.Dir), b.Dir)
	if err != nil {
		return providers.Errorf(providers.Invalid, "Workdir of %s: %v", b.Name, err)
	}
	b.Workdir = workdir
	k := &backend{Backend: b}
	var block scheduler.Block
	if err = scheduler.ReadBlock(b, &block); err != nil {
		return err
	}
	if k.waits, err = block.Waits(); err != nil {
		return err
	}
	if k.longest, err = block.Longest(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := spoolDir(workdir, s.options.Type.Name(), b.Lineage, b.Name)
	var before scheduler.Site
	if old := s.backends[b.Name]; old != nil && old.campaign.spools.first == first {
		k.campaign, before = old.campaign, old.site
	}
	if k.site, err = s.options.Type.Open(scheduler.Opening{Backend: b, Environ: s.options.Environ, Before: before}); err != nil {
		return err
	}
	if k.campaign == nil {
		k.campaign = newCampaign(b.Campaign, first, k.site.Scheduler())
	}
	s.backends[b.Name] = k
	return nil
}

func (s *Provider) backend(name string) (*backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backends[name]
	if b == nil {
		return nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", name)
	}
	return b, nil
}

// Pools lists the pools of a backend's cluster. As every command calls it, it also
// removes leftovers of a completed campaign from the queue.
func (s *Provider) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	pools, err := b.pools(ctx)
	if err != nil || len(pools) == 0 || !b.campaign.mu.TryLock() { // a watch looks itself
		return pools, err
	}
	defer b.campaign.mu.Unlock()
	if b.campaign.locate(ctx) != nil {
		return pools, nil
	}
	queue := spool.Identity(b.campaign.spools.dir)
	for i := range pools {
		pools[i].Queue = queue
	}
	if exists(b.campaign.spools.dir) && b.campaign.load() == nil {
		if text, err := b.campaign.leftovers.tidy(ctx, false); err == nil && text != "" {
			pools[0].Notes = append(slices.Clone(pools[0].Notes), offer.Repaired+text)
		}
	}
	return pools, nil
}

// pools are those of the cluster, with the longest waits that the backend block sets.
func (b *backend) pools(ctx context.Context) ([]offer.Pool, error) {
	pools, err := b.site.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pools {
		pools[i].Allocation = b.longest
	}
	for name, wait := range b.waits {
		i := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Name == name })
		if i < 0 {
			return nil, providers.Errorf(providers.Invalid, "max_wait of %s names %q, but jobs are placed on: %s", b.Name, name, poolNames(pools))
		}
		pools[i].MaxWait = wait
	}
	return pools, nil
}

func poolNames(pools []offer.Pool) string {
	var names []string
	for _, p := range pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Quote says where shapes would run, when, and at what price.
func (s *Provider) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	return b.site.Quote(ctx, shapes)
}

// Preflight checks, for free, that jobs could run.
func (s *Provider) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	list, err := b.site.Preflight(ctx, checks)
	list = append(list, b.checkFiles(checks)...)
	if err != nil || len(checks) == 0 || slices.ContainsFunc(checks, room.Only) { // these are asked while jobs run
		return list, err
	}
	return append(list, b.otherStates(ctx)...), nil
}

// opened reads a backend's spool and locks it; the caller unlocks.
func (s *Provider) opened(ctx context.Context, name string) (*backend, func(), error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, nil, err
	}
	b.campaign.mu.Lock()
	err = b.campaign.locate(ctx)
	if err == nil {
		err = b.campaign.load()
	}
	if err != nil {
		b.campaign.mu.Unlock()
		return nil, nil, err
	}
	return b, b.campaign.mu.Unlock, nil
}

// ruled is opened for the holder of the lease; it refuses earlier holders.
func (s *Provider) ruled(ctx context.Context, name string, fence uint64, holder string) (*backend, func(), error) {
	b, unlock, err := s.opened(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := b.campaign.spools.fence(fence, holder); err != nil {
		unlock()
		return nil, nil, err
	}
	return b, unlock, nil
}
