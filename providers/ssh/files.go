package ssh

import (
	"context"
	"errors"
	"io"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// files are a backend's files as some hosts see them. A name of the form BACKEND/HOST means
// those of one host.
func (s *SSH) files(name string) (b *backend, hosts []*host, err error) {
	plain, pool := providers.CutAt(name)
	if b, err = s.backend(plain); err != nil {
		return nil, nil, err
	}
	if pool == "" {
		return b, b.hosts, nil
	}
	h := b.named(pool)
	if h == nil {
		return nil, nil, providers.Errorf(providers.Invalid, "backend.%s has no host %q", b.Name, pool)
	}
	return b, []*host{h}, nil
}

// oneOf makes a call that any host can answer: the first reachable one does, and one that says
// "not found" leaves it to the next.
func oneOf(ctx context.Context, b *backend, hosts []*host, call func(*session) error) (err error) {
	for _, h := range hosts {
		next := h.do(ctx, b, call)
		var e *providers.Error
		if next == nil || !cannotAsk(next) && (!errors.As(next, &e) || e.Class != providers.NotFound) {
			return next
		}
		if err == nil || !cannotAsk(next) && !cannotAsk(err) {
			err = next // that a host could not be asked counts for more than "not found"
		} else if cannotAsk(next) {
			err = next
		}
	}
	return err
}

// Verify opens outputs in place. Where several hosts may have one, the youngest valid one
// counts.
func (s *SSH) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	b, hosts, err := s.files(r.Backend)
	if err != nil {
		return nil, err
	}
	r.Backend = b.Name
	got, away, err := split(each(ctx, b, hosts, func(ctx context.Context, _ *host, s *session) ([]offer.Output, error) { return s.Verify(ctx, r) }))
	if err != nil {
		return nil, err
	}
	out := got[0].got
	for _, o := range got[1:] {
		for i := range min(len(out), len(o.got)) {
			if better(o.got[i], out[i]) {
				out[i] = o.got[i]
			}
		}
	}
	for i := range out {
		if !out[i].OK && len(away) > 0 {
			return nil, away[0].err // it may be there
		}
	}
	return out, nil
}

func better(a, b offer.Output) bool {
	if a.OK != b.OK {
		return a.OK
	}
	return a.MTime > b.MTime
}

// Push writes a file on every host of the name, once where they share it.
func (s *SSH) Push(ctx context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	b, hosts, err := s.files(name)
	if err != nil {
		return err
	}
	push := func(s *session) error {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return s.Push(ctx, b.Name, path, size, digest, r)
	}
	if b.SharedFS != "" {
		return oneOf(ctx, b, hosts, push)
	}
	for _, h := range hosts {
		if err := h.do(ctx, b, push); err != nil {
			return err
		}
	}
	return nil
}

// Pull reads a file from an offset on, from the first host that has it.
func (s *SSH) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	b, hosts, err := s.files(name)
	if err != nil {
		return err
	}
	out := &counted{w: w}
	return oneOf(ctx, b, hosts, func(s *session) error {
		if out.n > 0 {
			return providers.Errorf(providers.Unreachable, "%s was cut off", path) // a begun transfer continues at its offset
		}
		return s.Pull(ctx, b.Name, path, offset, out)
	})
}

// counted counts the bytes that it wrote.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// List resolves globs and folders; of several hosts it joins the answers.
func (s *SSH) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	b, hosts, err := s.files(name)
	if err != nil {
		return nil, err
	}
	if b.SharedFS != "" && len(hosts) > 1 {
		var out []providers.FileInfo
		err := oneOf(ctx, b, hosts, func(s *session) (e error) {
			out, e = s.List(ctx, b.Name, patterns)
			return e
		})
		return out, err
	}
	got, away, err := split(each(ctx, b, hosts, func(ctx context.Context, _ *host, s *session) ([]providers.FileInfo, error) {
		return s.List(ctx, b.Name, patterns)
	}))
	if err != nil {
		return nil, err
	}
	if len(away) > 0 {
		return nil, away[0].err // half a list is a wrong one
	}
	var out []providers.FileInfo
	seen := map[string]bool{}
	for _, r := range got {
		for _, f := range r.got {
			if !seen[f.Path] {
				seen[f.Path] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// Remove moves files aside or deletes them, under a fence.
func (s *SSH) Remove(ctx context.Context, r providers.RemoveRequest) error {
	b, hosts, err := s.files(r.Backend)
	if err != nil {
		return err
	}
	r.Backend = b.Name
	if b.SharedFS != "" {
		return oneOf(ctx, b, hosts, func(s *session) error { return s.Remove(ctx, r) })
	}
	var errs []error
	for _, reply := range each(ctx, b, hosts, func(ctx context.Context, _ *host, s *session) (struct{}, error) { return struct{}{}, s.Remove(ctx, r) }) {
		errs = append(errs, reply.err)
	}
	return errors.Join(errs...)
}

// Clean removes muster's files from the hosts, its own program last.
func (s *SSH) Clean(ctx context.Context, name string) ([]string, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	var out []string
	var errs []error
	for _, r := range each(ctx, b, b.hosts, func(ctx context.Context, _ *host, s *session) ([]string, error) { return s.Clean(ctx, name) }) {
		for _, path := range r.got {
			out = append(out, r.host.name+":"+path)
		}
		errs = append(errs, r.err)
		r.host.drop() // its agent runs from a removed file
	}
	return out, errors.Join(errs...)
}
