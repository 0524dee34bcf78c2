package slurm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/login"
	"github.com/muster-run/muster/providers/slurm/profiles"
	"github.com/muster-run/muster/providers/slurm/programs"
	"github.com/muster-run/muster/providers/slurm/site"
	"github.com/muster-run/muster/providers/ssh"
)

// Slurm is the provider of type slurm: for a backend with an ssh block what
// stands on its login node, for any other what stands here.
type Slurm struct {
	here *login.Slurm
	far  *ssh.SSH

	mu  sync.Mutex
	ssh map[string]providers.Backend // those that are reached over ssh
	// equipped are those whose nodes have their programs.
	equipped map[string]bool
}

// New makes the provider; it reaches nothing before it is asked.
func New() *Slurm { return NewWith(login.NewWith(login.Options{Programs: ssh.Program}), ssh.New()) }

// NewWith makes a provider of its two ways.
func NewWith(here *login.Slurm, far *ssh.SSH) *Slurm {
	return &Slurm{here: here, far: far, ssh: map[string]providers.Backend{}, equipped: map[string]bool{}}
}

var (
	_ providers.Provider = (*Slurm)(nil)
	_ providers.Cleaner  = (*Slurm)(nil)
	_ providers.Loginer  = (*Slurm)(nil)
)

// Login connects to the login node of a backend that is reached over ssh.
func (s *Slurm) Login(ctx context.Context, name string, ask providers.Ask) error {
	s.mu.Lock()
	_, far := s.ssh[name]
	s.mu.Unlock()
	if !far {
		return nil
	}
	return s.far.Login(ctx, name, ask)
}

// at runs a call where a backend's login node is.
func (s *Slurm) at(ctx context.Context, backend string, call func(providers.Provider) error) error {
	s.mu.Lock()
	_, far := s.ssh[backend]
	s.mu.Unlock()
	if far {
		return s.far.Through(ctx, backend, call)
	}
	return call(s.here)
}

// Schema says what the backend block and a job's options may hold.
func (s *Slurm) Schema(context.Context) (offer.Schema, error) { return Schema(), nil }

// Configure takes a backend in.
func (s *Slurm) Configure(ctx context.Context, b providers.Backend) error {
	text, far, err := connection(b)
	if err != nil {
		return providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
	}
	if _, err := profiles.Of(b); err != nil {
		return err // here, where it can be told without the cluster
	}
	s.mu.Lock()
	delete(s.equipped, b.Name)
	if delete(s.ssh, b.Name); far {
		s.ssh[b.Name] = b
	}
	s.mu.Unlock()
	if !far {
		return s.here.Configure(ctx, b)
	}
	b.Config = text
	return s.far.Configure(ctx, b)
}

// connection is a backend's settings with those of its ssh block among them,
// as package ssh reads them, if it has one.
func connection(b providers.Backend) (text json.RawMessage, far bool, err error) {
	if len(b.Config) == 0 {
		return nil, false, nil
	}
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(b.Config, &settings); err != nil {
		return nil, false, err
	}
	block := settings["ssh"]
	if len(block) == 0 || string(block) == "null" {
		return nil, false, nil
	}
	var attrs map[string]json.RawMessage
	if err := json.Unmarshal(block, &attrs); err != nil {
		return nil, false, err
	}
	delete(settings, "ssh")
	delete(settings, "install_dir") // of the nodes' program; the door's own is the default
	for name, v := range attrs {
		settings[name] = v
	}
	text, err = json.Marshal(settings)
	return text, true, err
}

// Close ends the connections; what runs on clusters goes on.
func (s *Slurm) Close() error { return s.far.Close() }

// value is at for a call that answers.
func value[T any](s *Slurm, ctx context.Context, backend string, call func(providers.Provider) (T, error)) (out T, err error) {
	err = s.at(ctx, backend, func(p providers.Provider) (err error) {
		out, err = call(p)
		return err
	})
	return out, err
}

// Pools are the cluster's partitions. One that cannot be reached is planned
// for from its profile.
func (s *Slurm) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := value(s, ctx, name, func(p providers.Provider) ([]offer.Pool, error) { return p.Pools(ctx, name) })
	if known := s.known(name, err); known != nil {
		return known, nil
	}
	return pools, err
}

// known are the partitions of a profile, where the cluster cannot be reached.
func (s *Slurm) known(name string, err error) []offer.Pool {
	var e *providers.Error
	if !errors.As(err, &e) || e.Class != providers.Unreachable {
		return nil
	}
	b := s.reached(name)
	if b.Profile == "" {
		return nil
	}
	return site.Known(b, e.Summary)
}

// Quote says on which partitions shapes fit and how long they would wait. For
// a cluster that cannot be reached the profile's limits must do.
func (s *Slurm) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	quotes, err := value(s, ctx, name, func(p providers.Provider) ([]offer.Quote, error) { return p.Quote(ctx, name, shapes) })
	if s.known(name, err) != nil {
		return site.KnownQuotes(s.reached(name), shapes)
	}
	return quotes, err
}

// reached is a backend that is reached over ssh.
func (s *Slurm) reached(name string) providers.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ssh[name]
}

// Preflight checks, for free, that jobs could run.
func (s *Slurm) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]providers.Finding, error) { return p.Preflight(ctx, name, checks) })
}

// Submit hands jobs over.
func (s *Slurm) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]providers.Submitted, error) {
		if err := s.equip(ctx, p, r.Backend); err != nil {
			return nil, err
		}
		return p.Submit(ctx, r)
	})
}

// equip puts the programs for nodes of another processor than the login node's
// on a cluster that is reached over ssh, once.
func (s *Slurm) equip(ctx context.Context, p providers.Provider, name string) error {
	s.mu.Lock()
	_, far := s.ssh[name]
	done := s.equipped[name]
	s.mu.Unlock()
	if !far || done {
		return nil
	}
	pools, err := p.Pools(ctx, name)
	if err != nil {
		return err
	}
	for _, arch := range programs.Foreign(pools) {
		program, err := ssh.Program(arch)
		if err != nil {
			return err
		}
		path := programs.Path(arch, program)
		there, err := p.List(ctx, name, []string{path})
		if err != nil {
			return err
		}
		if len(there) == 1 && there[0].Size == int64(len(program)) {
			continue
		}
		sum := sha256.Sum256(program)
		if err := p.Push(ctx, name, path, int64(len(program)), "sha256:"+hex.EncodeToString(sum[:]), bytes.NewReader(program)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.equipped[name] = true
	s.mu.Unlock()
	return nil
}

// Find says for each token whether the backend knows it.
func (s *Slurm) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]offer.Observation, error) { return p.Find(ctx, name, tokens) })
}

// Watch tells what happens to the campaign's jobs.
func (s *Slurm) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Watch(ctx, r, fn) })
}

// Cancel ends jobs.
func (s *Slurm) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]providers.Outcome, error) { return p.Cancel(ctx, r) })
}

// Control changes what Slurm may start by itself.
func (s *Slurm) Control(ctx context.Context, r providers.ControlRequest) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Control(ctx, r) })
}

// Logs writes a job's log.
func (s *Slurm) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Logs(ctx, r, w) })
}

// Verify looks at outputs where they lie. Without a backend that is here.
func (s *Slurm) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]offer.Output, error) { return p.Verify(ctx, r) })
}

// Push writes a file on the cluster.
func (s *Slurm) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	return s.at(ctx, name, func(p providers.Provider) error { return p.Push(ctx, name, path, size, digest, r) })
}

// Pull reads a file from an offset on.
func (s *Slurm) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	return s.at(ctx, name, func(p providers.Provider) error { return p.Pull(ctx, name, path, offset, w) })
}

// List resolves globs and folders.
func (s *Slurm) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]providers.FileInfo, error) { return p.List(ctx, name, patterns) })
}

// Remove moves files aside or deletes them, under a fence.
func (s *Slurm) Remove(ctx context.Context, r providers.RemoveRequest) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Remove(ctx, r) })
}

// Clean removes what muster put on the cluster.
func (s *Slurm) Clean(ctx context.Context, name string) ([]string, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]string, error) {
		c, ok := p.(providers.Cleaner)
		if !ok {
			return nil, errors.New("what stands there cannot clean up")
		}
		return c.Clean(ctx, name)
	})
}
