// Package local runs jobs on the machine that runs muster, through the queue of
// package host. It answers read-only calls itself and sends every other call to
// the queue, which outlives muster.
package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/tree"
)

// Local is the provider of type local.
type Local struct {
	machine.Files
	queue    host.Options
	mu       sync.Mutex
	backends map[string]*backend
	clients  map[string]*host.Client // by spool
	reader   func() (gpu.Reader, error)
}

// backend is one configured backend.
type backend struct {
	providers.Backend
	place   machine.Tenant
	environ []providers.EnvVar
	client  *host.Client
}

// New makes the provider; its queue is the binary it runs in, started as
// `provider queue`.
func New() providers.Provider { return NewWith(host.Options{}) }

// NewWith makes a provider whose queue is started as the options say.
func NewWith(o host.Options) *Local {
	l := &Local{queue: o, backends: map[string]*backend{}, clients: map[string]*host.Client{}, reader: sync.OnceValues(gpu.Open)}
	l.Files.Workdir = l.workdir
	return l
}

func (l *Local) workdir(name string) (string, error) {
	b, err := l.backend(name)
	if err != nil {
		return "", err
	}
	return b.Workdir, nil
}

var (
	_ providers.Provider = (*Local)(nil)
	_ providers.Cleaner  = (*Local)(nil)
)

// Schema describes the backend block.
func (l *Local) Schema(context.Context) (offer.Schema, error) { return Schema(), nil }

// config is the backend block.
type config struct {
	machine.Settings
	Spool string `json:"spool"`
}

// Configure adds a backend.
func (l *Local) Configure(_ context.Context, b providers.Backend) error {
	var c config
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
		}
	}
	if why := c.Wrong(); why != "" {
		return providers.Errorf(providers.Invalid, "backend.%s: %s", b.Name, why)
	}
	if b.Workdir == "" {
		b.Workdir = b.Dir
	}
	workdir, err := machine.Expand(b.Workdir, b.Dir)
	if err != nil {
		return providers.Errorf(providers.Invalid, "Workdir of %s: %v", b.Name, err)
	}
	b.Workdir = workdir
	environ := b.Environ
	if len(environ) == 0 {
		environ = providers.JobEnviron(os.Environ())
	}
	spool := c.Spool
	if spool == "" {
		spool = l.queue.Spool
	} else if spool, err = machine.Expand(spool, b.Dir); err != nil {
		return providers.Errorf(providers.Invalid, "Spool of %s: %v", b.Name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backends[b.Name] = &backend{Backend: b, environ: environ, client: l.client(spool),
		place: machine.Tenant{Lineage: b.Lineage, Campaign: b.Campaign, Backend: b.Name, Workdir: workdir, MaxParallel: b.MaxParallel, Settings: c.Settings}}
	return nil
}

func (l *Local) client(spool string) *host.Client {
	c := l.clients[spool]
	if c == nil {
		o := l.queue
		o.Spool = spool
		c = host.NewClient(o)
		l.clients[spool] = c
	}
	return c
}

func (l *Local) backend(name string) (*backend, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.backends[name]
	if b == nil {
		return nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", name)
	}
	return b, nil
}

// Close drops the connections to queues, which continue.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		c.Close()
	}
	return nil
}

// Submit hands jobs to the queue.
func (l *Local) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, err := l.backend(r.Backend)
	if err != nil {
		return nil, err
	}
	for i := range r.Jobs {
		if r.Jobs[i].Workdir == "" {
			r.Jobs[i].Workdir = b.Workdir
		}
	}
	return b.client.Submit(ctx, b.place, b.environ, r)
}

// Find asks the queue for tokens.
func (l *Local) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	b, err := l.backend(name)
	if err != nil {
		return nil, err
	}
	return b.client.Find(ctx, b.place, tokens)
}

// Watch streams the queue's events.
func (l *Local) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := l.backend(r.Backend)
	if err != nil {
		return err
	}
	return b.client.Watch(ctx, b.place, r, fn)
}

// Cancel ends jobs.
func (l *Local) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, err := l.backend(r.Backend)
	if err != nil {
		return nil, err
	}
	return b.client.Cancel(ctx, b.place, r)
}

// Control changes which jobs the queue may start.
func (l *Local) Control(ctx context.Context, r providers.ControlRequest) error {
	b, err := l.backend(r.Backend)
	if err != nil {
		return err
	}
	return b.client.Control(ctx, b.place, r)
}

// Logs writes a job's log.
func (l *Local) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := l.backend(r.Backend)
	if err != nil {
		return err
	}
	return b.client.Logs(ctx, b.place, r, w)
}

// Remove moves files aside or deletes them, under a fence.
func (l *Local) Remove(ctx context.Context, r providers.RemoveRequest) error {
	b, err := l.backend(r.Backend)
	if err != nil {
		return err
	}
	return b.client.Remove(ctx, b.place, r)
}

// made are the folders in a workdir's .muster that hold nothing but copies and
// logs of muster's.
var made = []string{"logs", "lists", "source"}

// Clean removes the queue's records of ended jobs, their logs, and the copies made for them.
// Results stay, and so do files that were moved aside.
func (l *Local) Clean(ctx context.Context, name string) ([]string, error) {
	b, err := l.backend(name)
	if err != nil {
		return nil, err
	}
	removed, err := b.client.Clean(ctx, b.place)
	if err != nil {
		return removed, err
	}
	dir := filepath.Join(b.Workdir, ".muster")
	for _, name := range made {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := tree.Remove(path); err != nil {
			return removed, fmt.Errorf("clean: %w", err)
		}
		removed = append(removed, path)
	}
	providers.RemoveEmpty(dir)
	return removed, nil
}
