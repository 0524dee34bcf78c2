package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// mayLack reports whether an output is fine without any file.
func mayLack(o providers.Output) bool { return o.Kind == "glob" && o.MinCount == providers.NoneNeeded }

func isSet(o providers.Output) bool { return o.Kind == "glob" || o.Kind == "dir" }

// statSet looks at a set as a whole.
func statSet(workdir string, o providers.Output) (out offer.Output, base string, list []member, m Mark) {
	out = offer.Output{Name: o.Name, Path: o.Path}
	base, list, err := members(workdir, o)
	if err != nil {
		out.Present = isOtherKind(err)
		return refuse(out, err), base, nil, Mark{}
	}
	m = fold(list)
	m.fill(&out)
	out.Files = len(list)
	if err := enough(o, m, len(list)); err != nil {
		if len(list) == 0 && o.Kind == "glob" {
			err = matches(base, o, err)
		}
		return refuse(out, err), base, list, m
	}
	out.OK, out.Verdict = true, "there, not opened"
	return out, base, list, m
}

// matches adds the files of a glob.
func matches(base string, o providers.Output, none error) error {
	_, pattern := doublestar.SplitPattern(filepath.ToSlash(o.Path))
	names, err := doublestar.Glob(os.DirFS(base), pattern)
	if err != nil || len(names) == 0 {
		return none
	}
	path := filepath.Join(base, filepath.FromSlash(names[0]))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%w; %s: %w", none, names[0], absent(path, err))
	case info.IsDir():
		return fmt.Errorf("%w, but a folder: %s", none, names[0])
	case info.Mode().IsRegular():
		return none
	}
	return fmt.Errorf("%w, but %s: %s", none, special(info.Mode()), names[0])
}

// noMatch is the verdict of a glob that nothing matches.
const noMatch = "missing: no file matches"

func enough(o providers.Output, m Mark, files int) error {
	least := max(o.MinCount, 1)
	switch {
	case files == 0 && mayLack(o):
	case files == 0 && o.Kind == "dir":
		return errors.New("missing: there is no file in the folder")
	case files == 0:
		return errors.New(noMatch)
	case files < least:
		return fmt.Errorf("min_count: %d files, at least %d are asked", files, least)
	case o.Kind == "dir":
		return sizes(o, m.Size)
	}
	return nil
}

// checkSet checks every file of a set with every check. min_size applies to each file of a
// glob, and to a dir's files together.
func checkSet(ctx context.Context, workdir string, o providers.Output) offer.Output {
	out, base, list, before := statSet(workdir, o)
	if !out.OK && !out.Present {
		return out
	}
	if err := fits(ctx, "it", before.Size); err != nil {
		return refuse(out, err)
	}
	var wrong error // the first; the digest is taken whatever is wrong
	if o.Kind == "dir" {
		o.Verify, wrong = checkDir(ctx, workdir, base, o.Verify, before)
	}
	h, whole := sha256.New(), true
	for _, m := range list {
		digest, err := checkMember(ctx, workdir, filepath.Join(base, filepath.FromSlash(m.name)), o)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", m.name, err)
		}
		if isUnfinished(err) {
			return refuse(out, fmt.Errorf("%s: %w", m.name, err))
		}
		whole = whole && digest != ""
		fmt.Fprintf(h, "%s\x00%s\n", m.name, digest)
	}
	if _, _, _, after := statSet(workdir, o); after.Inode != before.Inode {
		return refuse(out, errChanged)
	}
	if whole {
		out.Digest = digestText(h.Sum(nil))
	}
	switch {
	case !out.OK:
		return out
	case wrong != nil:
		return refuse(out, wrong)
	}
	out.Verdict = passed
	return out
}

// checkDir runs the checks of a whole folder, and returns those of each file.
func checkDir(ctx context.Context, workdir, base string, checks []providers.VerifyCheck, m Mark) (each []providers.VerifyCheck, err error) {
	folder := &file{path: base, workdir: workdir, folder: true}
	for _, c := range checks {
		switch c.Kind {
		case "nonempty":
			if m.Size == 0 {
				err = errors.New("nonempty: the files in the folder are empty")
			}
		case "sha256":
			if c.File == "" {
				return nil, errors.New("sha256: name the manifest of a folder with file")
			}
			err = run(ctx, folder, c)
		case "command":
			err = run(ctx, folder, c)
		default:
			each = append(each, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return each, nil
}

func checkMember(ctx context.Context, workdir, path string, o providers.Output) (digest string, err error) {
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer f.close()
	f.workdir = workdir
	digest, err = f.check(ctx, o.Verify)
	if o.Kind == "glob" {
		if short := sizes(o, f.mark.Size); short != nil {
			err = short
		}
	}
	return digest, err
}

// fold makes one mark of a set: it changes when a file comes, goes, is
// written or replaced.
func fold(list []member) Mark {
	m := Mark{Exists: len(list) > 0}
	h := fnv.New64a()
	for _, f := range list {
		fmt.Fprintf(h, "%s\x00%d %d %d %d\n", f.name, f.mark.Inode, f.mark.Size, f.mark.MTime, f.mark.CTime)
		m.Size += f.mark.Size
		m.MTime = max(m.MTime, f.mark.MTime)
		m.CTime = max(m.CTime, f.mark.CTime)
	}
	m.Inode = h.Sum64()
	return m
}
