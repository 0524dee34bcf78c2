package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-run/muster/state/store"
)

// writeError wraps a failed write with what to do about it.
func (d *directory) writeError(path string, err error) error {
	var already *store.WriteError
	if err == nil || errors.As(err, &already) || errors.Is(err, store.ErrLost) {
		return err
	}
	return &store.WriteError{Path: path, Err: err, Way: d.way(err)}
}

func (d *directory) way(err error) string {
	const kept = "Everything acknowledged before is recorded; jobs already started go on and are found again."
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Sprintf("Free some space (or inodes, or quota) on the volume of %s, then run the same command again. %s", d.dir, kept)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("Make %s writable for %s, or name another place with state \"file\" { path = … }. %s", d.dir, d.opt.Who, kept)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ESTALE):
		return fmt.Sprintf("The file system of %s fails: check it before the next command. %s", d.dir, kept)
	}
	return fmt.Sprintf("Make sure that %s can be written, then run the same command again. %s", d.dir, kept)
}

// create writes a new file whole, durably, under a name nobody reads yet, and
// leaves it open.
func (d *directory) create(path string, write func(io.Writer) error) (handle, error) {
	f, err := d.fs.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, private)
	if err != nil {
		return nil, err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		_ = d.fs.Remove(path) // it may hold the space that is missing
		return nil, err
	}
	return f, nil
}

// exclusive gives a file that create left a name that must not be taken yet.
// The error is fs.ErrExist if it is.
func (d *directory) exclusive(temp, path string) error {
	err := d.fs.Link(temp, path)
	if err == nil || d.same(temp, path) { // over NFS a link may succeed and still report an error
		return d.fs.Remove(temp)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EMLINK) {
		return err
	}
	// No hard links here: O_EXCL takes the name, the rename puts the whole
	// file under it.
	f, err := d.fs.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, private)
	if err != nil {
		return err
	}
	f.Close()
	return d.fs.Rename(temp, path)
}

func (d *directory) same(a, b string) bool {
	x, err := d.fs.Stat(a)
	if err != nil {
		return false
	}
	y, err := d.fs.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func (d *directory) syncDir() error { return d.fs.SyncDir(filepath.Dir(d.path)) }

// gone is err unless it says that there was nothing.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
