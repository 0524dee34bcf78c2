// Package atomicfile writes files whose contents only change as a whole: a
// reader, or the next start after a crash, finds the old contents or the new.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the contents of path. When it returns, they are on the disk.
// The mode is not narrowed by the umask.
func Write(path string, contents []byte, mode os.FileMode) error {
	return Fill(path, mode, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
}

// Fill is Write for contents that fill writes. An error of fill's leaves path as
// it was.
func Fill(path string, mode os.FileMode, fill func(io.Writer) error) error {
	return replace(path, 0o600, func(f *os.File) error { return errors.Join(fill(f), f.Chmod(mode), f.Sync()) })
}

// WriteCache is Write for a file that can be made again: after a power failure it
// may be empty.
func WriteCache(path string, contents []byte) error {
	return replace(path, 0o600, func(f *os.File) error {
		_, err := f.Write(contents)
		return err
	})
}

// Output is Fill for a path that a user named. It follows links and keeps the mode of
// an old file; the umask decides the mode of a new one. It writes to a pipe or a device
// without replacing it.
func Output(path string, fill func(io.Writer) error) error {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
	}
	switch old, err := os.Lstat(path); {
	case err != nil:
		return replace(path, 0o666, func(f *os.File) error { return errors.Join(fill(f), f.Sync()) })
	case old.Mode().IsRegular():
		return Fill(path, old.Mode().Perm(), fill)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// replace fills a new file beside path, made with perm less the umask, and renames
// it to path.
func replace(path string, perm os.FileMode, fill func(*os.File) error) error {
	fresh := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new-"+rand.Text())
	f, err := os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err = errors.Join(fill(f), f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		os.Remove(fresh)
	}
	return err
}
