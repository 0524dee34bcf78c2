package door

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
	slurm "github.com/muster-run/muster/providers/slurm/login"
)

// A house is all that stands behind the door: this host with its queue, and
// the cluster whose login node it is. A backend's type says which is meant.
type house struct {
	*Door
	slurm *slurm.Slurm

	mu       sync.Mutex
	clusters map[string]bool // by backend
}

var (
	_ providers.Provider = (*house)(nil)
	_ providers.Cleaner  = (*house)(nil)
)

// newHouse puts a cluster beside a host; its nodes run this very program.
func newHouse(d *Door) *house {
	environ := func() []string {
		vars, _ := d.environ()
		out := make([]string, len(vars))
		for i, v := range vars {
			out[i] = v.Name + "=" + v.Value
		}
		return out
	}
	return &house{Door: d, slurm: slurm.NewWith(slurm.Options{Agent: []string{NodeMode}, Environ: environ}), clusters: map[string]bool{}}
}

// at is what a backend means.
func (h *house) at(backend string) providers.Provider {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clusters[backend] {
		return h.slurm
	}
	return h.Door
}

func (h *house) Configure(ctx context.Context, b providers.Backend) error {
	h.mu.Lock()
	h.clusters[b.Name] = b.Type == "slurm"
	h.mu.Unlock()
	if b.Type == "slurm" {
		b.Dir = h.home
		h.expand(&b.Workdir)
	}
	return h.at(b.Name).Configure(ctx, b)
}

func (h *house) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := h.at(name).Pools(ctx, name)
	for i := range pools {
		pools[i].Home = h.home
	}
	return pools, err
}

func (h *house) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	return h.at(name).Quote(ctx, name, shapes)
}

func (h *house) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	for i := range checks {
		h.expand(&checks[i].Workdir)
		for j := range checks[i].Require {
			h.expand(&checks[i].Require[j].Path)
		}
	}
	return h.at(name).Preflight(ctx, name, checks)
}

func (h *house) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	for i := range r.Jobs {
		h.settle(&r.Jobs[i])
	}
	return h.at(r.Backend).Submit(ctx, r)
}

func (h *house) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	return h.at(name).Find(ctx, name, tokens)
}

func (h *house) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return h.at(r.Backend).Watch(ctx, r, fn)
}

func (h *house) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	return h.at(r.Backend).Cancel(ctx, r)
}

func (h *house) Control(ctx context.Context, r providers.ControlRequest) error {
	return h.at(r.Backend).Control(ctx, r)
}

func (h *house) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	return h.at(r.Backend).Logs(ctx, r, w)
}

func (h *house) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	h.expand(&r.Workdir)
	return h.at(r.Backend).Verify(ctx, r)
}

func (h *house) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	h.expand(&path)
	return h.at(name).Push(ctx, name, path, size, digest, r)
}

func (h *house) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	h.expand(&path)
	return h.at(name).Pull(ctx, name, path, offset, w)
}

func (h *house) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	for i := range patterns {
		h.expand(&patterns[i])
	}
	return h.at(name).List(ctx, name, patterns)
}

func (h *house) Remove(ctx context.Context, r providers.RemoveRequest) error {
	for i := range r.Paths {
		h.expand(&r.Paths[i])
	}
	h.expand(&r.To)
	return h.at(r.Backend).Remove(ctx, r)
}

func (h *house) Clean(ctx context.Context, name string) ([]string, error) {
	if h.at(name) == h.Door {
		return h.Door.Clean(ctx, name)
	}
	removed, err := h.slurm.Clean(ctx, name)
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
