// Package source identifies the code of a campaign by its content: the digest
// of a folder, and read-only copies named by that digest. The digest depends on
// paths, contents, exec bits and links, never on times, owners or a commit. It also inspects the programs that commands
// name: scripts that a shell cannot read, and files that a job would lack.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// Rules say which files of a folder are a source.
type Rules struct {
	Dir              string   // absolute
	Include, Exclude []string // doublestar patterns relative to Dir; no Include = everything
	// Never reports paths that are no part of any source: declared outputs.
	// It is given slash-separated paths relative to Dir; nil = none.
	Never func(rel string) bool
	Cache string // folder where digests of files are remembered; "" = nowhere
}

// A File is one file or link of a tree.
type File struct {
	Path   string // relative, slash-separated
	Size   int64
	Digest string // "sha256:…" of the bytes, or of the target of a link
	Exec   bool
	Link   string // target; "" for a file
	root   string
}

// Open opens the file as it is now.
func (f File) Open() (*os.File, error) {
	return os.Open(filepath.Join(f.root, filepath.FromSlash(f.Path)))
}

// A Tree is a source as it was read.
type Tree struct {
	Digest string // 32 hex digits
	Files  []File // sorted by path
	Bytes  int64
}

// Read finds the files of a source and digests them. Files whose size, time
// and inode are as remembered are not opened.
func Read(ctx context.Context, s Rules) (Tree, error) {
	c := openCache(s)
	var t Tree
	err := s.walk(ctx, ".", func(rel string, d fs.DirEntry) error {
		f, err := c.file(s.Dir, rel, d)
		if err != nil {
			return err
		}
		if f.Path != "" {
			t.Files = append(t.Files, f)
			t.Bytes += f.Size
		}
		return nil
	})
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) && of.Path == s.Dir { // which is said
			err = of.Err
		}
		return Tree{}, fmt.Errorf("read source %s: %w", s.Dir, err)
	}
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	t.Digest = digest(t.Files)
	c.save()
	return t, nil
}

// skips reports whether a folder holds nothing of a source: muster's own, and
// version control's.
func (s Rules) skips(rel string) bool {
	switch path.Base(rel) {
	case ".muster", ".git", ".hg", ".svn":
		return true
	}
	for _, p := range s.Exclude {
		if strings.HasSuffix(p, "/**") && match(strings.TrimSuffix(p, "/**"), rel) {
			return true
		}
	}
	return false
}

// takes reports whether a file belongs to the source by its name.
func (s Rules) takes(rel string) bool {
	if own(path.Base(rel)) {
		return false
	}
	in := len(s.Include) == 0
	for _, p := range s.Include {
		if in = match(p, rel); in {
			break
		}
	}
	if !in {
		return false
	}
	for _, p := range s.Exclude {
		if match(p, rel) {
			return false
		}
	}
	return true
}

// own reports whether muster writes a file beside the campaign.
func own(base string) bool {
	return offer.Own(base) || strings.HasSuffix(base, ".mplan")
}

// match also lets a pattern that names a folder stand for all below it, as
// lang.Source does.
func match(pattern, rel string) bool {
	pattern = strings.TrimPrefix(path.Clean(pattern), "./")
	if pattern == "." {
		return true
	}
	ok, err := doublestar.Match(pattern, rel)
	if err == nil && !ok {
		ok, err = doublestar.Match(pattern+"/**", rel)
	}
	return err == nil && ok
}

// digest is over a line for each file: kind, digest and quoted path.
func digest(files []File) string {
	h := sha256.New()
	io.WriteString(h, "muster source 1\n")
	for _, f := range files {
		fmt.Fprintf(h, "%s %s %q\n", f.kind(), f.Digest, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (f File) kind() string {
	switch {
	case f.Link != "":
		return "link"
	case f.Exec:
		return "exec"
	}
	return "file"
}

// Of is the spec of a campaign's source. Declared outputs of all phases are
// never part of it, nor is anything of muster's.
func Of(c *lang.Campaign, s *lang.Source) Rules {
	outputs := outputsOf(c, s.Dir)
	never := func(rel string) bool { return !s.Has(rel) || outputs != nil && outputs(rel) }
	return Rules{Dir: s.Dir, Include: s.Include, Exclude: s.Exclude, Never: never, Cache: filepath.Join(c.Dir, ".muster", "cache")}
}
