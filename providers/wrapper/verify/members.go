package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A member is one file of a set, its name relative to the set's base with
// slashes: the folder before a glob's first wildcard, or the dir.
type member struct {
	name string
	mark Mark
}

// members lists a set's files, sorted by name. A dir that is not there is an
// error, a glob without matches an empty set.
func members(workdir string, o providers.Output) (base string, list []member, err error) {
	if o.Kind == "dir" {
		base = join(workdir, o.Path)
		list, err = tree(base)
		return base, list, err
	}
	// The workdir may hold characters that a pattern would read, so that only
	// the declared part is a pattern.
	head, pattern := doublestar.SplitPattern(filepath.ToSlash(o.Path))
	base = join(workdir, filepath.FromSlash(head))
	names, err := doublestar.Glob(os.DirFS(base), pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return base, nil, fmt.Errorf("glob %s: %w", o.Path, fault(err))
	}
	for _, name := range names {
		if OfMuster(name) {
			continue
		}
		if !utf8.ValidString(name) { // a job that reads it would get another name
			return base, nil, otherKind(fmt.Sprintf("the name of a file is not UTF-8: %q. Rename it", name))
		}
		if list, err = add(list, base, name); err != nil {
			return base, nil, err
		}
	}
	return base, sorted(list), nil
}

// Elsewhere is the folder of files that were moved aside beside a file of another filesystem.
const Elsewhere = ".muster-replaced"

// OfMuster reports whether a relative path is muster's own: a state, a record, a log, or a file
// that was moved aside. No pattern matches it.
func OfMuster(name string) bool {
	return offer.Own(name) || slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return s == ".muster" || s == Elsewhere })
}

// tree lists the regular files below a folder. It does not follow links to
// folders, and leaves muster's own .muster alone.
func tree(base string) (list []member, err error) {
	err = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == base && !d.IsDir():
			return notFolder(path, d)
		case d.IsDir() && d.Name() == ".muster" && path != base:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		list, err = add(list, base, filepath.ToSlash(name))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		switch bad := present(base); {
		case errors.Is(bad, errMissing):
			return nil, errors.New("missing: there is no such folder")
		case bad != nil:
			return nil, bad
		}
	}
	return sorted(list), fault(err)
}

// present says why nothing is at path.
func present(path string) error {
	if _, err := os.Stat(path); err != nil {
		return absent(path, err)
	}
	return nil
}

// notFolder describes the file at the path of a folder. A link to a folder is refused, too,
// and not walked.
func notFolder(path string, d fs.DirEntry) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return absent(path, err)
	case info.IsDir():
		return otherKind("a link to a folder is there, not a folder")
	}
	return notFolderMode(info.Mode())
}

func notFolderMode(mode fs.FileMode) error {
	if mode.IsRegular() {
		return otherKind("a file is there, not a folder; declare it with path")
	}
	return otherKind(special(mode) + " is there, not a folder")
}

// add puts a file on the list. A link counts as its target; anything but a file, or a link to
// one, is left out.
func add(list []member, base, name string) ([]member, error) {
	info, err := os.Stat(filepath.Join(base, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, fault(err))
	}
	if !info.Mode().IsRegular() {
		return list, nil
	}
	return append(list, member{name, markOf(info)}), nil
}

func sorted(list []member) []member {
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
}
