package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// A DriftError says that somebody edited a copy of a source in its place.
type DriftError struct {
	Dir         string
	File        string // the first that differs
	Found, Want string // its digests; Found is "" where it is gone
	More        int    // files that differ beside it
}

func (e *DriftError) Error() string {
	found := "gone"
	if e.Found != "" {
		found = fmt.Sprintf("%.15s now, %.15s when it was copied", e.Found, e.Want)
	}
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" (and %d more)", e.More)
	}
	return fmt.Sprintf("the copy of the source in %s was changed by hand: %s%s is %s. Nothing that reads it starts. Make the change in the source and plan again, or remove that folder (it is read-only: chmod -R u+w, then rm -r)",
		e.Dir, e.File, more, found)
}

// Drift looks for a copy of a tree at to, on this machine or, with a shore,
// there, and compares it with the tree: *DriftError where somebody edited it.
// No copy is fine, too.
func Drift(ctx context.Context, t Tree, to string, far Shore) error {
	if far == nil {
		if _, err := os.Lstat(to); err != nil {
			return nil
		}
		digests, err := here(to)(t.Files)
		if err != nil {
			return fmt.Errorf("check the copy of the source in %s: %w", to, err)
		}
		return unchanged(to, t.Files, digests)
	}
	if ok, err := far.There(ctx, path.Join(to, stamp)); err != nil || !ok {
		return err
	}
	digests, err := there(ctx, far, to, t.Files)
	if err != nil {
		return fmt.Errorf("check the copy of the source in %s: %w", to, err)
	}
	return unchanged(to, t.Files, digests)
}

// unchanged compares a copy with its source. Digests are those of the copy, in the order of
// the files; "" = gone. Added files do not matter: programs leave caches.
func unchanged(to string, files []File, digests []string) error {
	var e *DriftError
	for i, f := range files {
		switch {
		case digests[i] == f.Digest:
		case e == nil:
			e = &DriftError{Dir: to, File: f.Path, Found: digests[i], Want: f.Digest}
		default:
			e.More++
		}
	}
	if e == nil {
		return nil
	}
	return e
}

// stillWhole holds a copy that is there against the source. Where the source
// has moved on, nothing is left to hold it against, and the copy is taken as
// it is: jobs of an older plan are tried again with the code they began with.
func stillWhole(ctx context.Context, s Rules, want, to string, digests func([]File) ([]string, error)) error {
	t, err := checked(ctx, s, want)
	var changed *changedError
	if errors.As(err, &changed) {
		return nil
	}
	if err != nil {
		return err
	}
	got, err := digests(t.Files)
	if err != nil {
		return fmt.Errorf("check the copy of the source in %s: %w", to, err)
	}
	return unchanged(to, t.Files, got)
}

// here reads the digests of a copy on this machine. A folder of it that is a link
// leads nowhere outside the copy.
func here(to string) func([]File) ([]string, error) {
	return func(files []File) ([]string, error) {
		root, err := os.OpenRoot(to)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		out := make([]string, len(files))
		for i, f := range files {
			d, err := digestAny(root, filepath.FromSlash(f.Path), f.Link != "")
			if err != nil {
				return nil, err
			}
			out[i] = d
		}
		return out, nil
	}
}
