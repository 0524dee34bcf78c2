package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/providers/tree"
)

// A changedError says that a source has changed since the plan.
type changedError struct {
	Dir, Planned, Found string
}

func (e *changedError) Error() string {
	return fmt.Sprintf("the source in %s changed since the plan was made (%.8s, now %.8s); plan again", e.Dir, e.Planned, e.Found)
}

// Copy makes a read-only copy of the source at to, whole or not at all. A
// copy that is there is left alone: its name is its content; one that was edited
// is a *DriftError. A source that no longer has the digest is a *changedError.
func Copy(ctx context.Context, s Rules, want, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return stillWhole(ctx, s, want, to, here(to))
	}
	t, err := checked(ctx, s, want)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return fmt.Errorf("copy source: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return fmt.Errorf("copy source: %w", err)
	}
	defer removeAll(tmp)
	for _, f := range t.Files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.copyTo(filepath.Join(tmp, filepath.FromSlash(f.Path))); err != nil {
			return fmt.Errorf("copy source: %w", err)
		}
	}
	// The copy must match its digest: a file may have changed between the two.
	got, err := Read(ctx, Rules{Dir: tmp})
	if err != nil {
		return err
	}
	if got.Digest != want {
		return &changedError{Dir: s.Dir, Planned: want, Found: got.Digest}
	}
	if err := tree.Seal(tmp); err != nil {
		return fmt.Errorf("copy source: %w", err)
	}
	if err := os.Rename(tmp, to); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Lstat(to); there != nil {
			return fmt.Errorf("copy source: %w", err)
		}
	}
	return nil
}

func checked(ctx context.Context, s Rules, want string) (Tree, error) {
	t, err := Read(ctx, s)
	if err != nil {
		return t, err
	}
	if t.Digest != want {
		return t, &changedError{Dir: s.Dir, Planned: want, Found: t.Digest}
	}
	t.remember(s.Cache)
	return t, nil
}

func (f File) copyTo(to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if f.Link != "" {
		return os.Symlink(f.Link, to)
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	mode := fs.FileMode(0o644)
	if f.Exec {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// removeAll removes a tree even where it was sealed. A missing one is no error.
func removeAll(root string) {
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o755)
		}
		return nil
	})
	_ = os.RemoveAll(root)
}
