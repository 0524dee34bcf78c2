package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

func changed(path string) error {
	return wrong("%s changed after its digest was taken; plan again", path)
}

// Here is this machine as a source of files. It gives no byte of a file that differs from its
// record.
type Here struct {
	providers.Files // nothing but Pull is asked
	Recorded        providers.Recorded
}

// Pull reads a file from an offset on.
func (h Here) Pull(ctx context.Context, _, path string, offset int64, w io.Writer) error {
	f, before, err := h.open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(w, cancellable{ctx, f})
	if stampOf(path) != before {
		return errors.Join(changed(path), err)
	}
	return err
}

// Check reports whether a file still matches its record.
func (h Here) Check(ctx context.Context, path string) error {
	f, _, err := h.open(ctx, path)
	if err == nil {
		f.Close()
	}
	return err
}

// open opens a recorded file: it reads one with another stamp first.
func (h Here) open(ctx context.Context, path string) (*os.File, uint64, error) {
	if found := verify.Stat("/", providers.Output{Path: path}); !found.OK {
		return nil, 0, wrong("%s: %s", path, found.Verdict)
	}
	before := stampOf(path)
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, wrong("%v", err)
	}
	if before != 0 && before == h.Recorded.Stamp {
		return f, before, nil
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, cancellable{ctx, f}); err == nil && "sha256:"+hex.EncodeToString(sum.Sum(nil)) != h.Recorded.Digest {
		err = changed(path)
	}
	if err != nil {
		f.Close()
	}
	return f, before, err
}

func stampOf(path string) uint64 {
	found := verify.Stat("/", providers.Output{Path: path})
	return found.Stamp()
}

// cancellable ends with its context.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (r cancellable) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = wrong("%v", err)
	}
	return n, err
}
