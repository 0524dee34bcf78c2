package agent

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/schedulers"
)

// A router serves the backends of one agent: this host with its queue, and the
// cluster whose login node it is. A backend's type says which.
type router struct {
	*Server
	types map[string]*batch.Provider // by type of scheduler

	mu       sync.Mutex
	clusters map[string]*batch.Provider // by backend
}

var (
	_ providers.Provider = (*router)(nil)
	_ providers.Cleaner  = (*router)(nil)
)

// newRouter adds clusters to a host; their nodes run this very program.
func newRouter(d *Server) *router {
	environ := func() []string {
		vars, _ := d.environ()
		out := make([]string, len(vars))
		for i, v := range vars {
			out[i] = v.Name + "=" + v.Value
		}
		return out
	}
	h := &router{Server: d, types: map[string]*batch.Provider{}, clusters: map[string]*batch.Provider{}}
	for _, t := range schedulers.Types {
		h.types[t.Name()] = batch.New(batch.Options{Type: t, Environ: environ, Agent: []string{nodeMode}})
	}
	return h
}

// provider is the one that serves a backend.
func (h *router) provider(backend string) providers.Provider {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[backend]; c != nil {
		return c
	}
	return h.Server
}

func (h *router) Configure(ctx context.Context, b providers.Backend) error {
	h.mu.Lock()
	h.clusters[b.Name] = h.types[b.Type]
	h.mu.Unlock()
	if h.types[b.Type] != nil {
		b.Dir = h.home
		h.expand(&b.Workdir)
	}
	return h.provider(b.Name).Configure(ctx, b)
}

func (h *router) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := h.provider(name).Pools(ctx, name)
	for i := range pools {
		pools[i].Home = h.home
	}
	return pools, err
}

func (h *router) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	return h.provider(name).Quote(ctx, name, shapes)
}

func (h *router) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	for i := range checks {
		h.expand(&checks[i].Workdir)
		for j := range checks[i].Require {
			h.expand(&checks[i].Require[j].Path)
		}
	}
	return h.provider(name).Preflight(ctx, name, checks)
}

func (h *router) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	for i := range r.Jobs {
		h.settle(&r.Jobs[i])
	}
	return h.provider(r.Backend).Submit(ctx, r)
}

func (h *router) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	return h.provider(name).Find(ctx, name, tokens)
}

func (h *router) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return h.provider(r.Backend).Watch(ctx, r, fn)
}

func (h *router) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	return h.provider(r.Backend).Cancel(ctx, r)
}

func (h *router) Control(ctx context.Context, r providers.ControlRequest) error {
	return h.provider(r.Backend).Control(ctx, r)
}

func (h *router) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	return h.provider(r.Backend).Logs(ctx, r, w)
}

func (h *router) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	h.expand(&r.Workdir)
	return h.provider(r.Backend).Verify(ctx, r)
}

func (h *router) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	h.expand(&path)
	return h.provider(name).Push(ctx, name, path, size, digest, r)
}

func (h *router) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	h.expand(&path)
	return h.provider(name).Pull(ctx, name, path, offset, w)
}

func (h *router) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	for i := range patterns {
		h.expand(&patterns[i])
	}
	return h.provider(name).List(ctx, name, patterns)
}

func (h *router) Remove(ctx context.Context, r providers.RemoveRequest) error {
	for i := range r.Paths {
		h.expand(&r.Paths[i])
	}
	h.expand(&r.To)
	return h.provider(r.Backend).Remove(ctx, r)
}

func (h *router) Clean(ctx context.Context, name string) ([]string, error) {
	cluster, ok := h.provider(name).(*batch.Provider)
	if !ok {
		return h.Server.Clean(ctx, name)
	}
	removed, err := cluster.Clean(ctx, name)
	if err != nil {
		return removed, err
	}
	// Nodes run a copy in the workdir. The file that this process is goes, too,
	// unless this host has a queue: that one's clean-up takes it away.
	if dir, err := spool.Dir(); err != nil || exists(dir) {
		return removed, err
	}
	more, err := h.dropBinary()
	return append(removed, more...), err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
