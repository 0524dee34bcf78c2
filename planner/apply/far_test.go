package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
)

// farSchema describes a type of backend on other machines: each host has a home,
// a queue and files of its own, and is reached through a line that can be cut.
func farSchema() offer.Schema {
	s := local.Schema()
	s.Type = "far"
	s.Config = offer.Block{Attrs: []offer.Attr{{Name: "hosts", Type: offer.StringList, Required: true}, {Name: "shared_fs", Type: offer.String}}}
	s.Can.Remote, s.Can.FeedSlots = true, 0
	return s
}

// far stands in for machines elsewhere: real queues and real files below a
// folder for each host.
type far struct {
	t     testing.TB
	root  string // of all homes
	mu    sync.Mutex
	hosts map[string]*farHost   // by name
	of    map[string][]*farHost // by backend
	fs    map[string]string     // shared filesystem, by backend
	away  map[string]bool       // hosts whose line is cut
	tells bool                  // its watch says when a host is cut
	notes []providers.Note
	// trip is asked at every call about files; an error ends it.
	trip func(call, path string) error
	// digests is asked before files of inputs are read; an error ends it.
	digests func(ctx context.Context) error
	// dropAt ends the first pull of a path after so many bytes.
	dropAt map[string]int64
	// cancelling is called as a cancel comes and, with done, when it was carried out.
	cancelling func(done bool)
	offsets    map[string][]int64 // of pulls, by path
	sent       []providers.Job
}

type farHost struct {
	*local.Local
	name, home string
}

func newFar(t testing.TB) *far {
	return &far{t: t, root: t.TempDir(), hosts: map[string]*farHost{}, of: map[string][]*farHost{}, fs: map[string]string{},
		away: map[string]bool{}, dropAt: map[string]int64{}, offsets: map[string][]int64{}}
}

func (f *far) cut(host string, away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away[host] = away
	if f.tells && away {
		f.notes = append(f.notes, providers.Note{Kind: "unreachable", Text: host + " cannot be reached"})
	}
}

func (f *far) reach(h *farHost) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away[h.name] {
		return providers.Errorf(providers.Unreachable, "the line to %s is cut", h.name)
	}
	return nil
}

func (f *far) Schema(context.Context) (offer.Schema, error) { return farSchema(), nil }

func (f *far) Configure(ctx context.Context, b providers.Backend) error {
	var c struct {
		Hosts    []string `json:"hosts"`
		SharedFS string   `json:"shared_fs"`
	}
	if err := json.Unmarshal(b.Config, &c); err != nil {
		return err
	}
	var hosts []*farHost
	var away error
	up := 0
	for _, name := range c.Hosts {
		h := f.host(name)
		hosts = append(hosts, h)
		at := b
		at.Config, at.Dir, at.Environ = nil, h.home, providers.JobEnviron(os.Environ())
		if rest, ok := strings.CutPrefix(b.Workdir, "~/"); ok {
			at.Workdir = rest
		}
		if err := h.Configure(ctx, at); err != nil {
			return err
		}
		if err := f.reach(h); err != nil {
			away = err
			continue
		}
		up++
	}
	if up == 0 {
		return away
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[b.Name], f.fs[b.Name] = hosts, c.SharedFS
	return nil
}

func (f *far) host(name string) *farHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[name]
	if h == nil {
		spool, err := os.MkdirTemp("", "q")
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { os.RemoveAll(spool) })
		h = &farHost{name: name, home: filepath.Join(f.root, name),
			Local: local.NewWith(host.Options{Spool: spool, Command: []string{os.Args[0]}, Env: []string{beQueue + "=1"}, Idle: 200 * time.Millisecond})}
		f.t.Cleanup(func() { h.Close() })
		if err := os.MkdirAll(h.home, 0o755); err != nil {
			f.t.Fatal(err)
		}
		f.hosts[name] = h
	}
	return h
}

// all are the hosts of a backend; one is the one that a name picks.
func (f *far) all(backend string) []*farHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[backend]
}

func (f *far) one(name string) (*farHost, string, error) {
	backend, pool := providers.CutAt(name)
	for _, h := range f.all(backend) {
		if pool == "" || h.name == pool {
			return h, backend, f.reach(h)
		}
	}
	return nil, "", fmt.Errorf("no host for %s", name)
}

func (f *far) pool(backend string, h *farHost) string {
	if len(f.all(backend)) > 1 {
		return h.name
	}
	return ""
}

func (f *far) Pools(ctx context.Context, backend string) (out []offer.Pool, err error) {
	for _, h := range f.all(backend) {
		if f.reach(h) != nil {
			continue
		}
		pools, err := h.Pools(ctx, backend)
		if err != nil {
			return nil, err
		}
		p := pools[0]
		p.Home = h.home
		if len(f.all(backend)) > 1 {
			p.Name, p.Filesystem = h.name, h.name
		}
		if fs := f.shared(backend); fs != "" {
			p.Filesystem = fs
		}
		out = append(out, p)
	}
	return out, nil
}

func (f *far) shared(backend string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fs[backend]
}

func (f *far) Quote(_ context.Context, backend string, shapes []offer.Shape) (out []offer.Quote, err error) {
	for i := range shapes {
		for _, h := range f.all(backend) {
			if f.reach(h) != nil {
				continue
			}
			q := offer.Quote{Backend: backend, Shape: i, Fits: true, Price: offer.Price{Known: true}}
			if len(f.all(backend)) > 1 {
				q.Pool = h.name
			}
			out = append(out, q)
		}
	}
	return out, nil
}

func (f *far) Preflight(context.Context, string, []providers.Check) ([]providers.Finding, error) {
	return nil, nil
}

func (f *far) Submit(ctx context.Context, r providers.SubmitRequest) (out []providers.Submitted, err error) {
	for _, j := range r.Jobs {
		h, _, err := f.one(providers.At(r.Backend, j.Pool))
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.sent = append(f.sent, j)
		f.mu.Unlock()
		one := r
		j.Pool = ""
		one.Jobs = []providers.Job{j}
		got, err := h.Submit(ctx, one)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

func (f *far) Find(ctx context.Context, backend string, tokens []string) (out []offer.Observation, err error) {
	for _, t := range tokens {
		o := offer.Observation{Token: t, Presence: offer.Absent}
		for _, h := range f.all(backend) {
			if f.reach(h) != nil {
				o.Presence = max(o.Presence, offer.Unknown)
				if o.Presence == offer.Absent {
					o.Presence = offer.Unknown
				}
				continue
			}
			got, err := h.Find(ctx, backend, []string{t})
			if err != nil {
				return nil, err
			}
			if got[0].Presence == offer.Found {
				o = got[0]
				o.Pool = f.pool(backend, h)
				break
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// Watch joins the watches of all hosts; its cursor is theirs.
func (f *far) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	read := func(text string) map[string]string {
		m := map[string]string{}
		json.Unmarshal([]byte(text), &m)
		return m
	}
	cursors, acks := read(r.Cursor), read(r.Ack)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, h := range f.all(r.Backend) {
		wg.Go(func() {
			one := r
			mu.Lock()
			one.Cursor, one.Ack = cursors[h.name], acks[h.name]
			mu.Unlock()
			for ctx.Err() == nil {
				err := h.Watch(ctx, one, func(b providers.Batch) error {
					if err := f.reach(h); err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					for i := range b.Events {
						b.Events[i].Pool = f.pool(r.Backend, h)
					}
					cursors[h.name] = b.Cursor
					one.Cursor = b.Cursor
					text, _ := json.Marshal(cursors)
					b.Cursor = string(text)
					if err := fn(b); err != nil {
						stop(err)
						return err
					}
					return nil
				})
				var pe *providers.Error
				if !errors.As(err, &pe) || pe.Class != providers.Unreachable {
					stop(err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			f.mu.Lock()
			notes := f.notes
			f.notes = nil
			f.mu.Unlock()
			if mu.Lock(); len(notes) > 0 {
				text, _ := json.Marshal(cursors)
				if err := fn(providers.Batch{Cursor: string(text), Notes: notes}); err != nil {
					stop(err)
				}
			}
			mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	wg.Wait()
	return context.Cause(ctx)
}

func (f *far) Cancel(ctx context.Context, r providers.CancelRequest) (out []providers.Outcome, err error) {
	if f.cancelling != nil {
		f.cancelling(false)
		defer f.cancelling(true)
	}
	for _, h := range f.all(r.Backend) {
		if err = f.reach(h); err != nil {
			return nil, err
		}
		if out, err = h.Cancel(ctx, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *far) Control(ctx context.Context, r providers.ControlRequest) error {
	for _, h := range f.all(r.Backend) {
		if err := errors.Join(f.reach(h), h.Control(ctx, r)); err != nil {
			return err
		}
	}
	return nil
}

func (f *far) Logs(context.Context, providers.LogRequest, io.Writer) error { return nil }

func (f *far) files(call, name, path string) (*farHost, string, error) {
	h, backend, err := f.one(name)
	if err == nil && f.trip != nil {
		err = f.trip(call, path)
	}
	return h, backend, err
}

func (f *far) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	h, backend, err := f.files("verify", r.Backend, r.Workdir)
	if err != nil {
		return nil, err
	}
	r.Backend = backend
	if f.digests != nil && r.Open && len(r.Outputs) > 0 && r.Outputs[0].Name == "input" {
		if err := f.digests(ctx); err != nil {
			return nil, err
		}
	}
	return h.Verify(ctx, r)
}

func (f *far) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	h, backend, err := f.files("push", name, path)
	if err != nil {
		return err
	}
	return h.Push(ctx, backend, path, size, digest, r)
}

func (f *far) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	h, backend, err := f.files("pull", name, path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.offsets[path] = append(f.offsets[path], offset)
	drop := f.dropAt[path]
	delete(f.dropAt, path)
	f.mu.Unlock()
	if drop > 0 {
		w = &dropping{w, drop}
	}
	return h.Pull(ctx, backend, path, offset, w)
}

// dropping fails after some bytes, as a line does that is cut.
type dropping struct {
	io.Writer
	left int64
}

func (d *dropping) Write(b []byte) (int, error) {
	n, err := d.Writer.Write(b[:min(int64(len(b)), d.left)])
	if d.left -= int64(n); err == nil && d.left == 0 {
		err = providers.Errorf(providers.Unreachable, "the line broke")
	}
	return n, err
}

func (f *far) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	h, backend, err := f.files("list", name, patterns[0])
	if err != nil {
		return nil, err
	}
	return h.List(ctx, backend, patterns)
}

func (f *far) Remove(ctx context.Context, r providers.RemoveRequest) error {
	h, backend, err := f.files("remove", r.Backend, r.Paths[0])
	if err != nil {
		return err
	}
	r.Backend = backend
	return h.Remove(ctx, r)
}

var _ providers.Provider = (*far)(nil)
