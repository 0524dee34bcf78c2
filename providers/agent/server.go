// Package agent serves the provider protocol on standard input and output of a
// host that muster reaches over ssh, backed by the queue of package host. An
// agent lives as long as its connection; the queue outlives it.
package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
)

// A Server is this host as the provider at the other end of a connection sees
// it: package local's, with the user's home and login environment.
type Server struct {
	*local.Local
	home    string
	environ func() (environ []providers.EnvVar, note string)
	binary  string // removed by Clean; "" = none
}

var (
	_ providers.Provider = (*Server)(nil)
	_ providers.Cleaner  = (*Server)(nil)
)

// Options are the queue and the environment of an agent.
type Options struct {
	Queue host.Options // how the queue is started
	Home  string
	// Environ is the base environment of jobs, with a note about it.
	Environ func() (environ []providers.EnvVar, note string)
	Binary  string // muster's own file on the host, "" if it put none there
}

// New makes an agent; nothing is started before it is asked.
func New(o Options) *Server {
	return &Server{Local: local.NewWith(o.Queue), home: o.Home, environ: o.Environ, binary: o.Binary}
}

// Configure adds a backend. Paths of the campaign's own machine mean nothing here: a relative
// one is in the home.
func (d *Server) Configure(ctx context.Context, b providers.Backend) error {
	b.Dir = d.home
	d.expand(&b.Workdir)
	b.Environ, _ = d.environ()
	return d.Local.Configure(ctx, b)
}

// Pools is this host, with its home as `~`.
func (d *Server) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := d.Local.Pools(ctx, name)
	_, note := d.environ()
	for i := range pools {
		pools[i].Kind, pools[i].Word, pools[i].Home = offer.HostPool, "host", d.home
		if d.binary != "" {
			pools[i].Notes = append(pools[i].Notes, "muster's program here: "+d.binary)
		}
		if note != "" {
			pools[i].Notes = append(pools[i].Notes, note)
		}
	}
	return pools, err
}

// Preflight checks, for free, that jobs could run here.
func (d *Server) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	for i := range checks {
		d.expand(&checks[i].Workdir)
		for j := range checks[i].Require {
			d.expand(&checks[i].Require[j].Path)
		}
	}
	return d.Local.Preflight(ctx, name, checks)
}

// Submit hands jobs to the queue.
func (d *Server) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	for i := range r.Jobs {
		d.settle(&r.Jobs[i])
	}
	return d.Local.Submit(ctx, r)
}

// settle makes every path of a job absolute that begins in the home.
func (d *Server) settle(j *providers.Job) {
	for _, p := range []*string{&j.Workdir, &j.Dir, &j.Checkpoint.Path} {
		d.expand(p)
	}
	for i := range j.Inputs {
		d.expand(&j.Inputs[i].List)
		for k := range j.Inputs[i].Paths {
			d.expand(&j.Inputs[i].Paths[k])
		}
	}
	for i := range j.Outputs {
		d.expand(&j.Outputs[i].Path)
	}
	for i := range j.Require {
		d.expand(&j.Require[i].Path)
	}
}

// expand makes `~` the home.
func (d *Server) expand(path *string) {
	if p := *path; p == "~" || len(p) > 1 && p[:2] == "~/" {
		*path = filepath.Join(d.home, p[1:])
	}
}

// Verify opens outputs in place.
func (d *Server) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	d.expand(&r.Workdir)
	for i := range r.Outputs {
		d.expand(&r.Outputs[i].Path)
	}
	return d.Local.Verify(ctx, r)
}

// Push writes a file.
func (d *Server) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	d.expand(&path)
	return d.Local.Push(ctx, name, path, size, digest, r)
}

// Pull reads a file from an offset on.
func (d *Server) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	d.expand(&path)
	return d.Local.Pull(ctx, name, path, offset, w)
}

// List resolves globs and folders.
func (d *Server) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	for i := range patterns {
		d.expand(&patterns[i])
	}
	return d.Local.List(ctx, name, patterns)
}

// Remove moves files aside or deletes them, under a fence.
func (d *Server) Remove(ctx context.Context, r providers.RemoveRequest) error {
	d.expand(&r.To)
	for i := range r.Paths {
		d.expand(&r.Paths[i])
	}
	for i := range r.Renames {
		d.expand(&r.Renames[i].From)
		d.expand(&r.Renames[i].To)
	}
	return d.Local.Remove(ctx, r)
}

// Clean removes the queue's records of ended jobs, their logs, and the binary that this
// process runs from.
func (d *Server) Clean(ctx context.Context, name string) ([]string, error) {
	removed, err := d.Local.Clean(ctx, name)
	if err != nil {
		return removed, err
	}
	more, err := d.dropBinary()
	return append(removed, more...), err
}

// dropBinary removes the binary, those of other versions, and their folders if
// nothing else is in them.
func (d *Server) dropBinary() (removed []string, err error) {
	if d.binary == "" {
		return nil, nil
	}
	dir := filepath.Dir(d.binary)
	all, err := os.ReadDir(dir)
	if err != nil {
		return removed, fmt.Errorf("clean: %w", err)
	}
	for _, f := range all {
		// A dot before it: a copy that was cut off.
		if !strings.HasPrefix(strings.TrimPrefix(f.Name(), "."), Prefix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			return removed, fmt.Errorf("clean: %w", err)
		}
		removed = append(removed, filepath.Join(dir, f.Name()))
	}
	if os.Remove(dir) == nil && filepath.Base(filepath.Dir(dir)) == "muster" {
		_ = os.Remove(filepath.Dir(dir))
	}
	return removed, nil
}

// Prefix begins the name of every binary that muster puts on a host; the
// first digits of its digest follow.
const Prefix = "muster-host-"
