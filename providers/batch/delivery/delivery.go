// Package delivery reaches the login node of a cluster. If that is this
// machine, package batch does the work here; otherwise package batch does it
// behind muster's agent, over ssh. If the login node cannot be reached, it
// answers from a profile. Package batch also runs in that agent, which must not
// contain ssh and the programs that it copies: hence a package of its own.
package delivery

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
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/ssh"
)

// A Provider is for backends of one type of scheduler. A backend with an ssh block
// runs on its login node, any other on this machine.
type Provider struct {
	scheduler scheduler.Type
	here      *batch.Provider
	ssh       *ssh.SSH

	mu  sync.Mutex
	far map[string]*remote // by backend: those that are reached over ssh
}

// A remote is a backend that is reached over ssh.
type remote struct {
	site     scheduler.Site // never asked: it is the profile
	equipped bool           // its nodes have their programs
}

// New makes the provider; it connects to nothing.
func New(t scheduler.Type) *Provider {
	return &Provider{scheduler: t, here: batch.New(batch.Options{Type: t, Programs: ssh.Program}), ssh: ssh.New(), far: map[string]*remote{}}
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Cleaner  = (*Provider)(nil)
	_ providers.Loginer  = (*Provider)(nil)
	_ providers.Scripter = (*Provider)(nil)
)

// Schema says what a backend block and a job's options may hold.
func Schema(t scheduler.Type) offer.Schema {
	s := t.Schema()
	s.Config.Blocks = append(s.Config.Blocks, offer.NestedBlock{
		Name: "ssh", Doc: "How muster reaches the login node. Without it, muster runs " + t.Node().Words().Name + "'s commands on this machine.",
		Block: offer.Block{Attrs: ssh.Connection()},
	})
	return s
}

// Schema says what the backend block and a job's options may hold.
func (s *Provider) Schema(context.Context) (offer.Schema, error) { return Schema(s.scheduler), nil }

// Login connects to the login node of a backend over ssh.
func (s *Provider) Login(ctx context.Context, name string, ask providers.Ask) error {
	if s.remote(name) == nil {
		return nil
	}
	return s.ssh.Login(ctx, name, ask)
}

// remote is a backend over ssh; nil = it is on this machine.
func (s *Provider) remote(name string) *remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.far[name]
}

// at runs a call on a backend's login node.
func (s *Provider) at(ctx context.Context, backend string, call func(providers.Provider) error) error {
	if s.remote(backend) != nil {
		return s.ssh.Through(ctx, backend, call)
	}
	return call(s.here)
}

// Configure adds a backend. It checks one over ssh without its cluster.
func (s *Provider) Configure(ctx context.Context, b providers.Backend) error {
	text, far, err := connection(b)
	if err != nil {
		return providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
	}
	s.mu.Lock()
	delete(s.far, b.Name)
	s.mu.Unlock()
	if !far {
		return s.here.Configure(ctx, b)
	}
	site, err := s.scheduler.Open(scheduler.Opening{Backend: b})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.far[b.Name] = &remote{site: site}
	s.mu.Unlock()
	b.Config = text
	return s.ssh.Configure(ctx, b)
}

// connection is a backend's settings in the form of package ssh, merged with those
// of its ssh block; far = it has one.
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
	delete(settings, "install_dir") // of the nodes' program; the agent's own is the default
	for name, v := range attrs {
		settings[name] = v
	}
	text, err = json.Marshal(settings)
	return text, true, err
}

// Close ends the connections; jobs on clusters continue.
func (s *Provider) Close() error { return s.ssh.Close() }

// value is at for a call with a result.
func value[T any](s *Provider, ctx context.Context, backend string, call func(providers.Provider) (T, error)) (out T, err error) {
	err = s.at(ctx, backend, func(p providers.Provider) (err error) {
		out, err = call(p)
		return err
	})
	return out, err
}

// Pools are those of the cluster, or of its profile if it cannot be reached.
func (s *Provider) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := value(s, ctx, name, func(p providers.Provider) ([]offer.Pool, error) { return p.Pools(ctx, name) })
	if site, why := s.profile(name, err); site != nil {
		if known := site.Known(why); known != nil {
			return known, nil
		}
	}
	return pools, err
}

// Quote says on which pools shapes fit and how long they would wait, by the
// profile if the cluster cannot be reached.
func (s *Provider) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	quotes, err := value(s, ctx, name, func(p providers.Provider) ([]offer.Quote, error) { return p.Quote(ctx, name, shapes) })
	if site, why := s.profile(name, err); site != nil && site.Known(why) != nil {
		return site.KnownQuotes(shapes)
	}
	return quotes, err
}

// profile is the site of an unreachable cluster, with the reason; nil = the
// cluster answered, or has no profile.
func (s *Provider) profile(name string, err error) (scheduler.Profiled, string) {
	var e *providers.Error
	far := s.remote(name)
	if !errors.As(err, &e) || e.Class != providers.Unreachable || far == nil {
		return nil, ""
	}
	site, _ := far.site.(scheduler.Profiled)
	return site, e.Summary
}

// Preflight checks, for free, that jobs could run.
func (s *Provider) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]providers.Finding, error) { return p.Preflight(ctx, name, checks) })
}

// Submit submits jobs.
func (s *Provider) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]providers.Submitted, error) {
		if err := s.equip(ctx, p, r.Backend); err != nil {
			return nil, err
		}
		return p.Submit(ctx, r)
	})
}

// equip copies the programs for nodes with another processor to a cluster over
// ssh, once.
func (s *Provider) equip(ctx context.Context, p providers.Provider, name string) error {
	far := s.remote(name)
	s.mu.Lock()
	done := far == nil || far.equipped
	s.mu.Unlock()
	if done {
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
	far.equipped = true
	s.mu.Unlock()
	return nil
}

// Find says for each token whether the backend knows it.
func (s *Provider) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]offer.Observation, error) { return p.Find(ctx, name, tokens) })
}

// Watch reports the events of the campaign's jobs.
func (s *Provider) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Watch(ctx, r, fn) })
}

// Cancel ends jobs.
func (s *Provider) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]providers.Outcome, error) { return p.Cancel(ctx, r) })
}

// Control changes which jobs the scheduler may start by itself.
func (s *Provider) Control(ctx context.Context, r providers.ControlRequest) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Control(ctx, r) })
}

// Logs writes a job's log.
func (s *Provider) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Logs(ctx, r, w) })
}

// Verify opens outputs where they are; without a backend, here.
func (s *Provider) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	return value(s, ctx, r.Backend, func(p providers.Provider) ([]offer.Output, error) { return p.Verify(ctx, r) })
}

// Push writes a file on the cluster.
func (s *Provider) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	return s.at(ctx, name, func(p providers.Provider) error { return p.Push(ctx, name, path, size, digest, r) })
}

// Pull reads a file from an offset on.
func (s *Provider) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	return s.at(ctx, name, func(p providers.Provider) error { return p.Pull(ctx, name, path, offset, w) })
}

// List resolves globs and folders.
func (s *Provider) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]providers.FileInfo, error) { return p.List(ctx, name, patterns) })
}

// Remove moves files aside or deletes them, under a fence.
func (s *Provider) Remove(ctx context.Context, r providers.RemoveRequest) error {
	return s.at(ctx, r.Backend, func(p providers.Provider) error { return p.Remove(ctx, r) })
}

// Clean removes muster's files from the cluster.
func (s *Provider) Clean(ctx context.Context, name string) ([]string, error) {
	return value(s, ctx, name, func(p providers.Provider) ([]string, error) {
		c, ok := p.(providers.Cleaner)
		if !ok {
			return nil, errors.New("a program there cannot clean up")
		}
		return c.Clean(ctx, name)
	})
}

// Script shows how like jobs would be submitted.
func (s *Provider) Script(r providers.ScriptRequest) (providers.Script, error) {
	return s.here.Script(r)
}

// Terms are the requests of jobs to the queue beside their shape.
func (s *Provider) Terms(config, options json.RawMessage) offer.Terms {
	return s.here.Terms(config, options)
}
