package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/muster-run/muster/providers/tree"
)

// A Shore is the far end of a push.
type Shore interface {
	// There reports whether a path exists.
	There(ctx context.Context, path string) (bool, error)
	// Digests are those of files below a folder, "" for one that is gone.
	Digests(ctx context.Context, dir string, files []string) ([]string, error)
	// Push writes a file.
	Push(ctx context.Context, path string, size int64, digest string, r io.ReadSeeker) error
}

// stamp is an empty file in a pushed tree, by which it is found.
const stamp = ".muster-whole"

// Push sends the source to a backend as one archive, which is unpacked at to,
// whole or not at all. A tree that is there is left alone: its name is its
// content; one that was edited is a *DriftError.
func Push(ctx context.Context, s Rules, want, to string, shore Shore) error {
	switch ok, err := shore.There(ctx, path.Join(to, stamp)); {
	case err != nil:
		return err
	case ok:
		return stillWhole(ctx, s, want, to, func(files []File) ([]string, error) { return there(ctx, shore, to, files) })
	}
	t, err := checked(ctx, s, want)
	if err != nil {
		return err
	}
	f, digest, err := packed(t)
	if err != nil {
		return fmt.Errorf("ship source: %w", err)
	}
	defer f.Close()
	defer os.Remove(f.Name())
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("ship source: %w", err)
	}
	if err := shore.Push(ctx, to+tree.Suffix, size, digest, f); err != nil {
		return fmt.Errorf("ship source to %s: %w", path.Dir(to), err)
	}
	if ok, err := shore.There(ctx, path.Join(to, stamp)); err != nil || ok {
		return err
	}
	return fmt.Errorf("ship source: the backend did not unpack %s", to+tree.Suffix)
}

// there reads the digests of a copy on a backend. Links count as they are: a backend reports
// their targets.
func there(ctx context.Context, shore Shore, to string, files []File) ([]string, error) {
	out := make([]string, len(files))
	var names []string
	var at []int
	for i, f := range files {
		if f.Link != "" {
			out[i] = f.Digest
			continue
		}
		names, at = append(names, f.Path), append(at, i)
	}
	got, err := shore.Digests(ctx, to, names)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		out[i] = got[k]
	}
	return out, nil
}

// packed is the archive of a source, in a file of its own. It must match its digest: a file
// may have changed between the two.
func packed(t Tree) (f *os.File, digest string, err error) {
	entries := make([]tree.Entry, len(t.Files))
	sums := make([]func() string, len(t.Files))
	for i, file := range t.Files {
		entries[i] = tree.Entry{Path: file.Path, Size: file.Size, Exec: file.Exec, Link: file.Link, Open: func() (io.ReadCloser, error) {
			r, err := file.Open()
			if err != nil {
				return nil, err
			}
			h := sha256.New()
			sums[i] = func() string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
			return struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r, h), r}, nil
		}}
	}
	entries = append(entries, tree.Entry{Path: stamp, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }})
	if f, err = os.CreateTemp("", "muster-source-*"); err != nil {
		return nil, "", err
	}
	h := sha256.New()
	if err = tree.Pack(io.MultiWriter(f, h), entries); err == nil {
		for i, sum := range sums {
			if sum != nil && sum() != t.Files[i].Digest {
				err = fmt.Errorf("%s changed while it was read; plan again", t.Files[i].Path)
			}
		}
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, "", err
	}
	return f, "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
