package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
)

// A Lack is why a file of a folder is not in its source.
type lack int

// Why it is not.
const (
	included    lack = iota // it is
	notIncluded             // no include has it
	excluded                // an exclude has it
	Output                  // a phase declares it as an output
)

// lackOf says why a file below the folder of a source is not in it; rel is its
// path from there, with slashes.
func lackOf(c *lang.Campaign, s *lang.Source, rel string) lack {
	switch {
	case outputsOf(c, s.Dir)(rel):
		return Output
	case s.Excludes(rel):
		return excluded
	case !s.Has(rel) || !Of(c, s).takes(rel):
		return notIncluded
	}
	return included
}

// holds reports whether a source has any file in a folder below its own.
func holds(c *lang.Campaign, s *lang.Source, folder string) bool {
	found := errors.New("found")
	err := Of(c, s).walk(context.Background(), folder, func(string, fs.DirEntry) error { return found })
	return errors.Is(err, found)
}

// Wrong reports problems of the sources of a campaign: one has no file, so that jobs would
// begin in an empty folder, or an include names a missing file. It reads only the folders that
// may be read.
func Wrong(ctx context.Context, c *lang.Campaign, reads func(dir, what string) error) (diags diag.List) {
	seen := map[string]bool{}
	sources := []*lang.Source{c.Source}
	for _, p := range c.Phases {
		sources = append(sources, p.Source)
	}
	for _, s := range sources {
		if s == nil || seen[s.Key()] || reads != nil && reads(s.Dir, "") != nil {
			continue
		}
		seen[s.Key()] = true
		found := errors.New("found")
		if err := Of(c, s).walk(ctx, ".", func(string, fs.DirEntry) error { return found }); err == nil {
			diags.Append(NoFiles(c, s))
			continue
		}
		if d, ok := Missing(c, s); ok {
			diags.Append(d)
		}
	}
	return diags
}

// Missing says which files or folders a source's include names that are not there.
func Missing(c *lang.Campaign, s *lang.Source) (d diag.Diagnostic, ok bool) {
	if s.Within != nil && slices.Equal(s.Include, s.Within.Include) {
		return d, false // the campaign's, which are looked for with its source
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return d, false
	}
	defer root.Close()
	var missing []string
	never := outputsOf(c, s.Dir)
	for _, p := range s.Include {
		name := path.Clean(p)
		if strings.ContainsAny(p, `*?[{\`) || never(name) {
			continue
		}
		if _, err := root.Lstat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return d, false
	}
	return diag.Diagnostic{Summary: "A file of the source is not there", Subject: s.Range.Ptr(),
		Detail: fmt.Sprintf("include names %s, and %s has no such %s. Correct the name, or take it out of include.", strings.Trim(list(missing), "[]"), folderOf(c, s), pluralOf(len(missing)))}, true
}

// folderOf is how messages name the folder of a source.
func folderOf(c *lang.Campaign, s *lang.Source) string {
	if s.Dir != c.Dir {
		return s.Dir
	}
	return "the campaign's folder"
}

func pluralOf(n int) string {
	if n == 1 {
		return "file or folder"
	}
	return "files or folders"
}

// NoFiles reports a source without a file.
func NoFiles(c *lang.Campaign, s *lang.Source) diag.Diagnostic {
	why := "there is none"
	switch {
	case len(s.Include) > 0 && len(s.Exclude) > 0:
		why = fmt.Sprintf("include = %s without exclude = %s matches none", list(s.Include), list(s.Exclude))
	case len(s.Include) > 0:
		why = fmt.Sprintf("include = %s matches none", list(s.Include))
	case len(s.Exclude) > 0:
		why = fmt.Sprintf("exclude = %s leaves none", list(s.Exclude))
	}
	return diag.Diagnostic{Summary: "The source has no files", Subject: s.Range.Ptr(),
		Detail: fmt.Sprintf("Jobs begin in a copy of their source, so they would begin in an empty folder. Of the files below %s, %s (declared outputs do not count). Correct the patterns, or take the block out; jobs then begin in the workdir.", folderOf(c, s), why)}
}

func list(patterns []string) string {
	quoted := make([]string, len(patterns))
	for i, p := range patterns {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// walk visits the files of a source below a folder of it. A file that vanishes
// meanwhile, a temporary one say, is no part of it, unless an include names that
// very file.
func (s Rules) walk(ctx context.Context, folder string, visit func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(filepath.Join(s.Dir, filepath.FromSlash(folder)), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && name != s.Dir {
				return nil
			}
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, err := filepath.Rel(s.Dir, name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if s.skips(rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if !s.takes(rel) || s.Never != nil && s.Never(rel) {
			return nil
		}
		if err := visit(rel, d); !errors.Is(err, fs.ErrNotExist) || s.names(rel) {
			return err
		}
		return nil
	})
}

// names reports whether an include names a very file.
func (s Rules) names(rel string) bool {
	return slices.ContainsFunc(s.Include, func(p string) bool { return path.Clean(p) == rel })
}
