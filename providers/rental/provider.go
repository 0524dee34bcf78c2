package rental

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Provider runs jobs on machines of one platform that it rents for them.
//
//	Provider ── backend ──┬── Keeper ──(API)── the cloud
//	                      ├── jobs, depot: submitted jobs, and all files
//	                      └── box ──(ssh)── the queue of a machine
//
// A job waits in its backend's records until a machine is ready, and then in the queue of that
// machine. Its outputs are copied here and verified here before it is completed, so that a
// machine which ends takes no result with it.
type Provider struct {
	platform Platform
	dialer   Dialer
	now      func() time.Time
	beat     time.Duration // between two looks at the cloud

	// Traces is a folder with a trace of each campaign that rents machines, for its user and
	// not in its folder; "" leaves none. It is set before Configure.
	Traces string

	mu       sync.Mutex
	backends map[string]*backend
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Renter   = (*Provider)(nil)
	_ io.Closer          = (*Provider)(nil)
)

// beat is how often the cloud is asked while there is work.
const beat = 5 * time.Second

// New makes the provider of a platform; it reaches nothing before it is asked.
func New(p Platform) *Provider {
	made := NewWith(p, overSSH{spool: p.Facts().spool()}, time.Now, beat)
	made.Traces = traceFolder()
	return made
}

// NewWith makes a provider that reaches machines and tells the time in other ways.
func NewWith(p Platform, d Dialer, now func() time.Time, beat time.Duration) *Provider {
	return &Provider{platform: p, dialer: d, now: now, beat: beat, backends: map[string]*backend{}}
}

// Schema describes the backend block.
func (p *Provider) Schema(context.Context) (offer.Schema, error) { return Schema(p.platform), nil }

// Configure adds a backend. It asks nothing.
func (p *Provider) Configure(_ context.Context, b providers.Backend) error {
	s, err := readSettings(p.platform, b)
	if err != nil {
		return err
	}
	account, err := p.platform.Open(b)
	if err != nil {
		return err
	}
	if b.Workdir == "" || b.Workdir == b.Dir {
		return providers.Errorf(providers.Invalid, "backend.%s: workdir is not set; write workdir = \"~/work\"", b.Name)
	}
	dir := recordsOf(b)
	be := &backend{Backend: b, market: &market{settings: s, of: b.Name, account: account, platform: p.platform, now: p.now}, dialer: p.dialer, beat: p.beat, dir: dir, traces: traces{p.Traces, b},
		depot: depot{dir: dir, home: p.platform.Facts().Home, workdir: b.Workdir}, boxes: map[string]*box{}, kick: make(chan struct{}, 1), changed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.backends[b.Name]; old != nil {
		old.close()
	}
	p.backends[b.Name] = be
	return nil
}

// recordsOf is the folder of a backend's records.
func recordsOf(b providers.Backend) string {
	return filepath.Join(b.Dir, ".muster", "rentals", b.Lineage, b.Name)
}

func (p *Provider) backend(name string) (*backend, error) {
	plain, _ := providers.CutAt(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.backends[plain]
	if b == nil {
		return nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", plain)
	}
	return b, nil
}

// Close ends the connections; machines and their jobs continue.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, b := range p.backends {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}
