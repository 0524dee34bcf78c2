package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
)

// racy is how young a file's time may be, at the time of reading, for its
// content to be remembered: a younger one may yet change within the clock's
// step.
const racy = 2 * time.Second

// A cache remembers the digests of files by size, time and inode.
type cache struct {
	path string
	old  map[string]entry
	now  map[string]entry
	hits int
}

type entry struct {
	Size   int64  `json:"s"`
	MTime  int64  `json:"m"`
	Inode  uint64 `json:"i"`
	Digest string `json:"d"`
}

func openCache(s Rules) *cache {
	c := &cache{now: map[string]entry{}}
	if s.Cache == "" {
		return c
	}
	sum := sha256.Sum256([]byte(s.Dir))
	c.path = filepath.Join(s.Cache, "source-"+hex.EncodeToString(sum[:6])+".json")
	if b, err := os.ReadFile(c.path); err == nil {
		_ = json.Unmarshal(b, &c.old) // a broken cache is an empty one
	}
	return c
}

// file describes one entry of a folder. Sockets, pipes and devices are no
// part of a source: the File without a path says so.
func (c *cache) file(root, rel string, d fs.DirEntry) (File, error) {
	name := filepath.Join(root, filepath.FromSlash(rel))
	f := File{Path: rel, root: root}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		if err != nil {
			return File{}, err
		}
		f.Link, f.Digest = target, digestText(target)
		return f, nil
	}
	if !d.Type().IsRegular() {
		return File{}, nil
	}
	info, err := d.Info()
	if err != nil {
		return File{}, err
	}
	f.Size, f.Exec = info.Size(), info.Mode()&0o100 != 0
	e := entry{Size: info.Size(), MTime: info.ModTime().UnixNano(), Inode: inode(info)}
	if o, ok := c.old[rel]; ok && o.Size == e.Size && o.MTime == e.MTime && o.Inode == e.Inode {
		c.now[rel] = o
		c.hits++
		f.Digest = o.Digest
		return f, nil
	}
	if e.Digest, err = digestFile(name); err != nil {
		return File{}, err
	}
	f.Digest = e.Digest
	if time.Since(info.ModTime()) > racy {
		c.now[rel] = e
	}
	return f, nil
}

// save writes the cache if it says anything new. That it cannot be written is
// no error: the next run reads the files again.
func (c *cache) save() {
	if c.path == "" || c.hits == len(c.now) && len(c.old) == len(c.now) {
		return
	}
	b, err := json.Marshal(c.now)
	if err == nil {
		write(c.path, b)
	}
}

// write makes a file of the cache, whole or not at all.
func write(name string, b []byte) {
	if os.MkdirAll(filepath.Dir(name), 0o777) != nil {
		return
	}
	providers.KeepFromGit(filepath.Dir(filepath.Dir(name)))
	_ = atomicfile.WriteCache(name, b)
}

func digestText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digestAny is the digest of a file, or of the target of a link; "" where none
// such is there.
func digestAny(root *os.Root, name string, link bool) (string, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case link != (info.Mode()&fs.ModeSymlink != 0):
		return "", nil
	case link:
		target, err := root.Readlink(name)
		return digestText(target), err
	}
	return sumOf(root.Open(name))
}

func digestFile(name string) (string, error) { return sumOf(os.Open(name)) }

func sumOf(f *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("sha256:")
	b.WriteString(hex.EncodeToString(h.Sum(nil)))
	return b.String(), nil
}
