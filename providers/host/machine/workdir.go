package machine

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Files moves files for a provider whose files are on this machine: relative paths are in a
// backend's workdir.
type Files struct {
	// Workdir is where a backend that was configured works.
	Workdir func(backend string) (string, error)
}

// Verify opens outputs in place.
func (f Files) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	workdir := r.Workdir
	if workdir == "" {
		var err error
		if workdir, err = f.Workdir(r.Backend); err != nil {
			return nil, err
		}
	}
	if r.Open {
		out := verifier.Run(ctx, verify.Task{Workdir: workdir, Outputs: r.Outputs}, verifier.Limits{}).Outputs
		return out, ctx.Err()
	}
	out := make([]offer.Output, len(r.Outputs))
	for i, o := range r.Outputs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = verify.Stat(workdir, o)
	}
	return out, nil
}

// Push writes a file, continuing where an earlier push stopped.
func (f Files) Push(_ context.Context, backend, path string, size int64, digest string, r io.ReadSeeker) error {
	path, err := f.Path(backend, path)
	if err != nil {
		return err
	}
	return Push(path, size, digest, r)
}

// Pull reads a file from an offset on.
func (f Files) Pull(_ context.Context, backend, path string, offset int64, w io.Writer) error {
	path, err := f.Path(backend, path)
	if err != nil {
		return err
	}
	return Pull(path, offset, w)
}

// List resolves globs and folders.
func (f Files) List(_ context.Context, backend string, patterns []string) ([]providers.FileInfo, error) {
	full := make([]string, len(patterns))
	for i, p := range patterns {
		var err error
		if full[i], err = f.Path(backend, p); err != nil {
			return nil, err
		}
	}
	return List(full)
}

// Path is a path of a backend, absolute.
func (f Files) Path(backend, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := f.Workdir(backend)
	if err != nil {
		return "", err
	}
	return Expand(path, dir)
}

// Expand makes a path absolute, from dir, and ~ the home. A path that is not UTF-8 is an
// error: records would hold another one.
func Expand(path, dir string) (string, error) {
	full, err := expand(path, dir)
	if err == nil && !utf8.ValidString(full) {
		return "", providers.Errorf(providers.Invalid, "The path %q is not UTF-8: rename the folder, or set workdir to another", full)
	}
	return full, err
}

func expand(path, dir string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}
