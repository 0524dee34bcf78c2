package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

func missing(r providers.Require) string {
	info, err := os.Stat(r.Path)
	switch {
	case err != nil:
		return err.Error()
	case info.Size() < r.MinSize:
		return fmt.Sprintf("%s has %d bytes, at least %d are needed.", r.Path, info.Size(), r.MinSize)
	}
	return ""
}

func (x *example) Verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	b, err := x.at(r.Backend)
	if err != nil {
		return nil, err
	}
	if r.Workdir == "" {
		r.Workdir = b.Workdir
	}
	out := make([]offer.Output, len(r.Outputs))
	for i, o := range r.Outputs {
		if r.Open {
			out[i] = verify.Check(ctx, r.Workdir, o)
		} else {
			out[i] = verify.Stat(r.Workdir, o)
		}
	}
	return out, nil
}

func (b *backend) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(b.Workdir, p)
}

// Push continues after the part of an earlier push in PATH.part.
func (x *example) Push(_ context.Context, backend, path string, size int64, digest string, r io.ReadSeeker) error {
	b, err := x.at(backend)
	if err != nil {
		return err
	}
	path = b.path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	have, err := io.Copy(h, io.LimitReader(f, size))
	if err != nil {
		return err
	}
	if _, err := r.Seek(have, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, size-have))
	if err != nil {
		return err
	}
	if have+n != size {
		return providers.Errorf(providers.Invalid, "Push of %s ended after %d of %d bytes", path, have+n, size)
	}
	if got := "sha256:" + hex.EncodeToString(h.Sum(nil)); digest != "" && got != digest {
		return errors.Join(providers.Errorf(providers.Invalid, "Push of %s has %s, not %s", path, got, digest), os.Remove(path+".part"))
	}
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func (x *example) Pull(_ context.Context, backend, path string, offset int64, w io.Writer) error {
	b, err := x.at(backend)
	if err != nil {
		return err
	}
	path = b.path(path)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return providers.Errorf(providers.NotFound, "There is no file %s", path)
	}
	_, err = copyFrom(w, path, offset)
	return err
}

func (x *example) List(_ context.Context, backend string, patterns []string) ([]providers.FileInfo, error) {
	b, err := x.at(backend)
	if err != nil {
		return nil, err
	}
	var out []providers.FileInfo
	seen := map[string]bool{}
	for _, p := range patterns {
		paths, err := doublestar.FilepathGlob(b.path(p))
		if err != nil {
			return nil, providers.Errorf(providers.Invalid, "Pattern %q: %v", p, err)
		}
		slices.Sort(paths)
		for _, path := range paths {
			err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || seen[path] {
					return err
				}
				seen[path] = true
				info, err := d.Info()
				if err != nil {
					return err
				}
				f := providers.FileInfo{Path: path, Size: info.Size(), MTime: info.ModTime().UnixNano()}
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					f.Inode = st.Ino
				}
				out = append(out, f)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (x *example) Remove(_ context.Context, r providers.RemoveRequest) error {
	b, unlock, err := x.guarded(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range r.Paths {
		path := b.path(p)
		if r.To == "" {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		if err := guard.Move(b.Workdir, b.path(r.To), path); err != nil {
			return err
		}
	}
	for _, n := range r.Renames {
		if err := guard.Rename(b.path(n.From), b.path(n.To)); err != nil {
			return err
		}
	}
	return nil
}

// Clean removes the folder with all jobs, unless one runs.
func (x *example) Clean(_ context.Context, backend string) ([]string, error) {
	b, err := x.at(backend)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.order {
		if !j.over() {
			return nil, providers.Errorf(providers.Conflict, "Job %s has not ended", j.spec.Token)
		}
	}
	away := b.dir + ".removed" // all at once: no shell that is late finds half of it
	if err := errors.Join(os.Rename(b.dir, away), os.RemoveAll(away)); err != nil {
		return nil, err
	}
	b.jobs, b.order, b.size = map[string]*job{}, nil, 0
	return []string{b.dir}, os.MkdirAll(filepath.Join(b.dir, "jobs"), 0o700)
}
