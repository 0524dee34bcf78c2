// Package ssh runs jobs on Linux hosts reached over ssh, with shared or
// exclusive GPUs. On each host the queue of package host runs the jobs and
// outlives the connection; package agent serves it over one connection:
//
//	SSH ── backend ──┬── host ── session ─(ssh)─ agent ── queue
//	                 └── host …
//
// A host that does not answer leaves its jobs unknown, never failed.
package ssh

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// SSH is the provider of type ssh.
type SSH struct {
	opts     sshx.Options
	binaries binaries

	mu       sync.Mutex
	backends map[string]*backend
	hosts    map[hostKey]*host // several backends may be on one host
}

var (
	_ providers.Provider = (*SSH)(nil)
	_ providers.Cleaner  = (*SSH)(nil)
)

// New makes the provider; it reaches nothing before it is asked.
func New() *SSH { return NewWith(sshx.Options{}) }

// NewWith makes a provider whose side of ssh lives where the options say.
func NewWith(o sshx.Options) *SSH {
	return &SSH{opts: o, backends: map[string]*backend{}, hosts: map[hostKey]*host{}}
}

// hostKey is equal for two backends that share a connection.
type hostKey struct {
	target  sshx.Target
	install string
}

// A backend is one configured place: one host, or several that are its pools.
type backend struct {
	providers.Backend
	config
	hosts   []*host
	profile *Profile // of the platform; nil = none is named

	mu    sync.Mutex
	place map[string]*host // token → where it was taken in; of several hosts only
}

// Schema describes the backend block.
func (s *SSH) Schema(context.Context) (offer.Schema, error) { return Schema(), nil }

// Configure adds a backend. The hosts learn of it with the next call.
func (s *SSH) Configure(_ context.Context, b providers.Backend) error {
	c, err := readConfig(b)
	if err != nil {
		return err
	}
	profile, err := profiles.Named(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	be := &backend{Backend: b, config: c, profile: profile, place: map[string]*host{}}
	for _, name := range c.names() {
		key := hostKey{c.target(name), c.InstallDir}
		h := s.hosts[key]
		if h == nil {
			h = newHost(name, sshx.New(key.target, s.opts), c.InstallDir, &s.binaries)
			s.hosts[key] = h
		}
		h.forget(b.Name)
		be.hosts = append(be.hosts, h)
	}
	s.backends[b.Name] = be
	return nil
}

func (s *SSH) backend(name string) (*backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backends[name]
	if b == nil {
		return nil, providers.Errorf(providers.Invalid, "Backend %s has not been configured", name)
	}
	return b, nil
}

// Close ends the connections; the jobs on the hosts continue.
func (s *SSH) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, h := range s.hosts {
		errs = append(errs, h.close())
	}
	return errors.Join(errs...)
}

// several reports whether hosts have names of their own: as pools and in handles.
func (b *backend) several() bool { return b.Host == "" }

// pool is a host's name as a pool.
func (b *backend) pool(h *host) string {
	if b.several() {
		return h.name
	}
	return ""
}

// named is the host of a pool, nil if there is none.
func (b *backend) named(pool string) *host {
	for _, h := range b.hosts {
		if h.name == pool || pool == "" && !b.several() {
			return h
		}
	}
	return nil
}
