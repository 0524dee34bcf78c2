package rental

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// Verify looks at outputs where they are kept, which is here.
func (p *Provider) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	b, err := p.backend(r.Backend)
	if err != nil {
		return nil, err
	}
	return b.depot.verify(ctx, r)
}

// Push keeps a file for machines.
func (p *Provider) Push(_ context.Context, name, path string, size int64, digest string, r io.ReadSeeker) error {
	b, err := p.backend(name)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.depot.push(path, size, digest, r)
}

// Pull reads a file that is kept here.
func (p *Provider) Pull(_ context.Context, name, path string, offset int64, w io.Writer) error {
	b, err := p.backend(name)
	if err != nil {
		return err
	}
	return machine.Pull(b.depot.here(path), offset, w)
}

// List resolves globs and folders among the files that are kept here.
func (p *Provider) List(_ context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	return b.depot.list(patterns)
}

// Remove moves files aside or deletes them, here and on the machines.
func (p *Provider) Remove(ctx context.Context, r providers.RemoveRequest) error {
	b, err := p.led(r.Backend)
	if err != nil {
		return err
	}
	r.Backend = b.Name
	b.mu.Lock()
	if err := b.fenced(r.Fence, r.Holder); err != nil {
		b.mu.Unlock()
		return err
	}
	boxes := b.reached()
	b.mu.Unlock()
	var errs []error
	for _, x := range boxes {
		errs = append(errs, x.host.Remove(ctx, r))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.depot.remove(r)
}

// sameSpec reports whether two submissions of a token ask for the same.
func sameSpec(a, b providers.Job) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// copyLog copies the requested part of a log that is complete.
func copyLog(w io.Writer, f io.Reader, r providers.LogRequest) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	text = text[min(r.Offset, int64(len(text))):]
	if r.Lines > 0 {
		at := len(text)
		for n := 0; at > 0; at-- {
			if text[at-1] == '\n' && at != len(text) {
				if n++; n == r.Lines {
					break
				}
			}
		}
		text = text[at:]
	}
	_, err = w.Write(text)
	return err
}
