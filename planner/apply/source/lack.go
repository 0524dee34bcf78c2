package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
)

// A Lack is why a file of a folder is not in its source.
type Lack int

// Why it is not.
const (
	None        Lack = iota // it is
	NotIncluded             // no include has it
	Excluded                // an exclude has it
	Output                  // a phase declares it as an output
)

// LackOf says why a file below the folder of a source is not in it; rel is its
// path from there, with slashes.
func LackOf(c *lang.Campaign, s *lang.Source, rel string) Lack {
	switch {
	case outputsOf(c, s.Dir)(rel):
		return Output
	case s.Excludes(rel):
		return Excluded
	case !s.Has(rel) || !Of(c, s).takes(rel):
		return NotIncluded
	}
	return None
}

// Holds reports whether a source has any file in a folder below its own.
func Holds(c *lang.Campaign, s *lang.Source, folder string) bool {
	found := errors.New("found")
	err := Of(c, s).walk(context.Background(), folder, func(string, fs.DirEntry) error { return found })
	return errors.Is(err, found)
}

// Empty says what is wrong with a source that has no file: jobs would begin in an
// empty folder. Outside the folders that may be read nothing is looked at.
func Empty(ctx context.Context, c *lang.Campaign, reads func(dir, what string) error) (diags diag.List) {
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
		}
	}
	return diags
}

// NoFiles is what is said of a source without a file.
func NoFiles(c *lang.Campaign, s *lang.Source) diag.Diagnostic {
	where := "the campaign's folder"
	if s.Dir != c.Dir {
		where = s.Dir
	}
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
		Detail: fmt.Sprintf("Jobs begin in a copy of their source, so they would begin in an empty folder. Of the files below %s, %s (declared outputs do not count). Correct the patterns, or take the block out; jobs then begin in the workdir.", where, why)}
}

func list(patterns []string) string {
	quoted := make([]string, len(patterns))
	for i, p := range patterns {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// walk visits the files of a source below a folder of it.
func (s Spec) walk(ctx context.Context, folder string, visit func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(filepath.Join(s.Dir, filepath.FromSlash(folder)), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
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
		return visit(rel, d)
	})
}
