// Package login is Slurm as seen from a login node: a machine that has its
// commands and sees the workdir. Like jobs go as arrays with Slurm's own
// dependencies; what a job is and how it ended stands on a spool in the
// workdir, so that the cluster finishes a campaign with muster off.
package login

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/programs"
	"github.com/muster-run/muster/providers/slurm/site"
)

// Slurm is the provider of type slurm, on a machine that has Slurm's commands
// and sees the workdir: a login node.
type Slurm struct {
	machine.Files
	options  Options
	mu       sync.Mutex
	backends map[string]*backend
	nodes    programs.Nodes
}

// Options change how a cluster is reached, for tests and for a door.
type Options struct {
	// Agent are the words after this program's name that make it run one
	// element on a node; default "provider node".
	Agent []string
	// Program is what runs on nodes; default: the program that this is.
	Program string
	// Programs gives the program for nodes of another processor, as Go names
	// it; nil: it is put into the workdir by whom this speaks for.
	Programs func(arch string) ([]byte, error)
	// Environ is what Slurm's commands get, and with it every job, if they are
	// not those of this process.
	Environ func() []string
	// Keep is the folder of what is kept of a cluster for when its accounting is away;
	// default muster/slurm in the user's cache.
	Keep   string
	runner cluster.Runner
	// Floor is the least time between two looks at the queue; default 15 s.
	Floor time.Duration
}

// backend is one configured backend.
type backend struct {
	*site.Site
	campaign *campaign
}

// NewWith makes a provider as the options say.
func NewWith(o Options) *Slurm {
	if o.Agent == nil {
		o.Agent = []string{"provider", "node"}
	}
	if o.runner == nil {
		o.runner = cluster.Here{Environ: o.Environ}
		if dir, err := os.UserCacheDir(); err == nil && o.Keep == "" {
			o.Keep = filepath.Join(dir, "muster", "slurm")
		}
	}
	s := &Slurm{options: o, backends: map[string]*backend{}, nodes: programs.Nodes{Carried: o.Programs}}
	s.Files.Workdir = s.workdir
	return s
}

func (s *Slurm) workdir(name string) (string, error) {
	b, err := s.backend(name)
	if err != nil {
		return "", err
	}
	return b.Workdir, nil
}

var (
	_ providers.Provider = (*Slurm)(nil)
	_ providers.Cleaner  = (*Slurm)(nil)
)

// Schema says what the backend block and a job's options may hold.
func (s *Slurm) Schema(context.Context) (offer.Schema, error) { return site.Schema(), nil }

// Configure takes a backend in.
func (s *Slurm) Configure(_ context.Context, b providers.Backend) error {
	at, err := site.New(b)
	if err != nil {
		return err
	}
	k := &backend{Site: at}
	if k.Workdir == "" {
		k.Workdir = b.Dir
	}
	workdir, err := machine.Expand(k.Workdir, b.Dir)
	if err != nil {
		return providers.Errorf(providers.Invalid, "Workdir of %s: %v", b.Name, err)
	}
	k.Workdir = workdir
	s.mu.Lock()
	defer s.mu.Unlock()
	spool := spoolDir(workdir, b.Lineage, b.Name)
	if old := s.backends[b.Name]; old != nil && old.campaign.spool == spool {
		k.campaign = old.campaign
		k.Is(old.Site)
	} else {
		k.Cluster = cluster.New(s.options.runner, site.User())
		k.Cluster.Keep = s.options.Keep
		k.campaign = newCampaign(spool, k.Cluster)
		k.campaign.name = b.Campaign
	}
	s.backends[b.Name] = k
	return nil
}

func (s *Slurm) backend(name string) (*backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backends[name]
	if b == nil {
		return nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", name)
	}
	return b, nil
}

// Pools are the partitions of a backend's cluster. Every command asks for them:
// what stands in the queue of a campaign that is over is seen then.
func (s *Slurm) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	pools, err := b.Pools(ctx)
	if err != nil || len(pools) == 0 || !b.campaign.mu.TryLock() { // a watch looks itself
		return pools, err
	}
	defer b.campaign.mu.Unlock()
	if exists(b.campaign.spool) && b.campaign.load() == nil {
		if text, err := b.campaign.tidy(ctx, false); err == nil && text != "" {
			pools[0].Notes = append(slices.Clone(pools[0].Notes), offer.Mended+text)
		}
	}
	return pools, nil
}

// Quote says where shapes would run, and when.
func (s *Slurm) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	return b.Quote(ctx, shapes)
}

// Preflight checks, for free, that jobs could run.
func (s *Slurm) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	list, err := b.Preflight(ctx, checks)
	if err != nil || len(checks) == 0 || slices.ContainsFunc(checks, site.RoomOnly) { // these are asked while jobs run
		return list, err
	}
	return append(list, b.strangers(ctx)...), nil
}

// opened is a backend with its spool read, locked; the caller unlocks.
func (s *Slurm) opened(name string) (*backend, func(), error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, nil, err
	}
	b.campaign.mu.Lock()
	if err := b.campaign.load(); err != nil {
		b.campaign.mu.Unlock()
		return nil, nil, err
	}
	return b, b.campaign.mu.Unlock, nil
}

// ruled is opened for whoever holds the lease: who held it before is refused.
func (s *Slurm) ruled(name string, fence uint64, holder string) (*backend, func(), error) {
	b, unlock, err := s.opened(name)
	if err != nil {
		return nil, nil, err
	}
	if err := b.campaign.fence(fence, holder); err != nil {
		unlock()
		return nil, nil, err
	}
	return b, unlock, nil
}

// agent is the command that runs one element on a node: this very program,
// copied once where nodes see it, under the name of its digest.
func (s *Slurm) agent(b *backend) ([]string, error) {
	dir := b.Config.InstallDir
	if dir == "" {
		dir = filepath.Join(b.Workdir, ".muster", "bin")
	} else {
		var err error
		if dir, err = machine.Expand(dir, b.Workdir); err != nil {
			return nil, err
		}
	}
	path, err := s.nodes.Own(dir, s.options.Program)
	if err != nil {
		return nil, err
	}
	return append([]string{path}, s.options.Agent...), nil
}
