package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/tree"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Push writes a file of known size and digest ("sha256:…", "" if unknown). It continues where
// an earlier push stopped, and puts the file in place whole; a tree is unpacked into its
// folder.
func Push(path string, size int64, digest string, r io.ReadSeeker) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	part := path + ".muster-part"
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	have, err := io.Copy(h, io.LimitReader(f, size))
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if _, err := r.Seek(have, io.SeekStart); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, size-have))
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if have+n != size {
		return providers.Errorf(providers.Invalid, "Push of %s ended after %d of %d bytes", path, have+n, size)
	}
	if got := "sha256:" + hex.EncodeToString(h.Sum(nil)); digest != "" && got != digest {
		os.Remove(part) // the existing bytes were not the beginning of this file
		return providers.Errorf(providers.Invalid, "Push of %s does not have the digest it should: %s, not %s", path, got, digest)
	}
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if folder, ok := tree.Folder(path); ok {
		if err := tree.Unpack(path, folder); err != nil {
			return fmt.Errorf("push: %w", err)
		}
	}
	return nil
}

// Pull reads a file from an offset on.
func Pull(path string, offset int64, w io.Writer) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return providers.Errorf(providers.NotFound, "There is no file %s", path)
	}
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	return nil
}

// List resolves paths, globs and folders to files, in the order of the patterns, and the files
// of each in the order of their paths. A missing path resolves to none.
func List(patterns []string) ([]providers.FileInfo, error) {
	var out []providers.FileInfo
	seen := map[string]bool{}
	add := func(path string, fi fs.FileInfo) {
		if seen[path] {
			return
		}
		seen[path] = true
		info := providers.FileInfo{Path: path, Size: fi.Size(), MTime: fi.ModTime().UnixNano(), Dir: fi.IsDir()}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			info.Inode = st.Ino
		}
		out = append(out, info)
	}
	for _, p := range patterns {
		paths := []string{p}
		if _, err := os.Lstat(p); err != nil && strings.ContainsAny(p, "*?[{") {
			var err error
			if paths, err = doublestar.FilepathGlob(p); err != nil {
				return nil, providers.Errorf(providers.Invalid, "Pattern %s: %v", p, err)
			}
			head, _ := doublestar.SplitPattern(filepath.ToSlash(p))
			paths = slices.DeleteFunc(paths, func(path string) bool {
				rel, err := filepath.Rel(head, path)
				return err == nil && verify.OfMuster(rel)
			})
			slices.Sort(paths)
		}
		for _, path := range paths {
			if err := listOne(path, add); err != nil {
				return nil, fmt.Errorf("list %s: %w", path, err)
			}
		}
	}
	return out, nil
}

func listOne(path string, add func(string, fs.FileInfo)) error {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		add(path, fi)
		return nil
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := os.Stat(p)
		if err == nil {
			add(p, fi)
		}
		return nil
	})
}
