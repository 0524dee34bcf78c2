package lang

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// Source names the code a job depends on.
type Source struct {
	Dir              string // absolute
	Include, Exclude []string
	// Within is the campaign's source, which a phase's own narrows: a file
	// counts when both have it. Nil for the campaign's own.
	Within *Source
	Range  hcl.Range
}

// readSource reads a source block of a campaign in dir; within is the campaign's for
// a phase's own, and what a phase without one has.
func readSource(r *decode.Reader, dir string, b *syntax.Block, within *Source) *Source {
	if b == nil {
		return within
	}
	s := &Source{Dir: dir, Include: r.Texts(b, "include"), Exclude: r.Texts(b, "exclude"), Within: within, Range: b.Range}
	if within != nil {
		s.Dir = within.Dir
	}
	if own, ok := r.MaybeText(b, "dir"); ok {
		s.Dir = own
		if !filepath.IsAbs(own) {
			s.Dir = filepath.Join(dir, own)
		}
		folderIsThere(r, b, own, s.Dir)
	}
	for name, list := range map[string][]string{"include": s.Include, "exclude": s.Exclude} {
		for _, p := range list {
			if !doublestar.ValidatePattern(p) {
				r.Wrong(b.Expr(name), name, "%q is not a pattern; ** spans folders, * and ? stay within one, {a,b} is either.", wording.Clip(p))
			}
			if path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..") {
				r.Wrong(b.Expr(name), name, "%q leaves the source's folder; patterns are relative to dir.", wording.Clip(p))
			}
		}
	}
	if within != nil && s.Dir == within.Dir {
		// Said again, for those who look at one source only.
		if len(s.Include) == 0 {
			s.Include = within.Include
		}
		s.Exclude = append(slices.Clone(within.Exclude), s.Exclude...)
	}
	return s
}

// folderIsThere reports a folder that cannot be a source's, as the campaign names it.
func folderIsThere(r *decode.Reader, b *syntax.Block, own, dir string) {
	switch at, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		r.Wrong(b.Expr("dir"), "dir", "There is no folder %q here. Without dir a source is the campaign's own folder; include and exclude choose from it.", wording.Clip(own))
	case err == nil && !at.IsDir():
		r.Wrong(b.Expr("dir"), "dir", "%q is a file; a source is a folder, and include = [%q] chooses one file from it.", wording.Clip(own), filepath.Base(own))
	}
}

// Key tells sources apart that hold different files.
func (s *Source) Key() string {
	if s == nil {
		return ""
	}
	key := s.Dir + "\x00" + strings.Join(s.Include, "\x01") + "\x00" + strings.Join(s.Exclude, "\x01")
	if s.Within != nil {
		key += "\x02" + s.Within.Key()
	}
	return key
}

// Has reports whether a file counts, by its path relative to Dir with slashes.
// A file without a pattern naming it counts when there is no include.
func (s *Source) Has(rel string) bool {
	if !matchAny(s.Include, rel, true) || matchAny(s.Exclude, rel, false) {
		return false
	}
	if s.Within == nil {
		return true
	}
	outer, err := filepath.Rel(s.Within.Dir, filepath.Join(s.Dir, filepath.FromSlash(rel)))
	return err == nil && !strings.HasPrefix(outer, "..") && s.Within.Has(filepath.ToSlash(outer))
}

// Excludes reports whether an exclude leaves a path out, its own or that of the
// campaign's source.
func (s *Source) Excludes(rel string) bool {
	for ; s != nil; s = s.Within {
		if matchAny(s.Exclude, rel, false) {
			return true
		}
		if s.Within != nil {
			outer, err := filepath.Rel(s.Within.Dir, filepath.Join(s.Dir, filepath.FromSlash(rel)))
			if err != nil {
				return false
			}
			rel = filepath.ToSlash(outer)
		}
	}
	return false
}

// matchAny also lets a pattern that names a folder stand for all below it.
func matchAny(patterns []string, rel string, none bool) bool {
	if len(patterns) == 0 {
		return none
	}
	for _, p := range patterns {
		p = strings.TrimSuffix(path.Clean(p), "/")
		if doublestar.MatchUnvalidated(p, rel) || p == "." || doublestar.MatchUnvalidated(p+"/**", rel) {
			return true
		}
	}
	return false
}
