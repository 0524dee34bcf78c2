package lang

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// source reads a source block; within is the campaign's for a phase's own.
func (l *loader) source(b *block, within *Source) *Source {
	if b == nil {
		return within
	}
	s := &Source{Dir: l.c.Dir, Include: l.texts(b, "include"), Exclude: l.texts(b, "exclude"), Within: within, Range: b.rng}
	if within != nil {
		s.Dir = within.Dir
	}
	if dir, ok := l.maybeText(b, "dir"); ok {
		s.Dir = dir
		if !filepath.IsAbs(dir) {
			s.Dir = filepath.Join(l.c.Dir, dir)
		}
	}
	for name, list := range map[string][]string{"include": s.Include, "exclude": s.Exclude} {
		for _, p := range list {
			if !doublestar.ValidatePattern(p) {
				l.wrong(b.expr(name), name, "%q is not a pattern; ** spans folders, * and ? stay within one, {a,b} is either.", clip(p))
			}
			if path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..") {
				l.wrong(b.expr(name), name, "%q leaves the source's folder; patterns are relative to dir.", clip(p))
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
