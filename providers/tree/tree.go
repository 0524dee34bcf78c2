// Package tree moves a folder as one archive, which is unpacked completely or
// not at all. It keeps the exec bits and links that copying file by file would
// lose.
package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Suffix marks a pushed file as a tree: it is unpacked into the folder of its
// name without the suffix, and removed.
const Suffix = ".muster-tree"

// An Entry is one file or link of a tree.
type Entry struct {
	Path string // relative, slash-separated
	Size int64
	Exec bool
	Link string // target; "" for a file
	Open func() (io.ReadCloser, error)
}

// Pack writes a tree. It holds no times and no owners: equal trees are equal
// bytes.
func Pack(w io.Writer, entries []Entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		if err := pack(t, e); err != nil {
			return fmt.Errorf("pack %s: %w", e.Path, err)
		}
	}
	return t.Close()
}

func pack(t *tar.Writer, e Entry) error {
	h := &tar.Header{Name: e.Path, Mode: 0o644, Size: e.Size, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if e.Exec {
		h.Mode = 0o755
	}
	if e.Link != "" {
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.Link, 0
	}
	if err := t.WriteHeader(h); err != nil || e.Link != "" {
		return err
	}
	r, err := e.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(t, io.LimitReader(r, e.Size))
	if err == nil && n != e.Size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Unpack makes a read-only folder of a packed tree and removes the archive. A
// folder that is there is left alone.
func Unpack(archive, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return os.Remove(archive)
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	defer Remove(tmp)
	for t := tar.NewReader(f); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpack(tmp, h, t)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
	}
	if err := Seal(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		if _, there := os.Lstat(to); there != nil {
			return err
		}
	}
	return os.Remove(archive)
}

func unpack(root string, h *tar.Header, r io.Reader) error {
	name := filepath.FromSlash(h.Name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leads outside", h.Name)
	}
	to := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		return os.Symlink(h.Linkname, to)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fs.FileMode(h.Mode)&0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// Seal makes a tree read-only, files first. The root stays writable by its
// owner: rename(2) of a folder needs it.
func Seal(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			dirs = append(dirs, name)
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(name, info.Mode().Perm()&^0o222)
	})
	if err != nil {
		return err
	}
	for i := len(dirs) - 1; i > 0; i-- {
		if err := os.Chmod(dirs[i], 0o555); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a tree, also a read-only one. A missing tree is no error.
func Remove(root string) error {
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o755)
		}
		return nil
	})
	return os.RemoveAll(root)
}

// Folder is the folder that a pushed path is unpacked into, if it is a tree.
func Folder(path string) (string, bool) { return strings.CutSuffix(path, Suffix) }
