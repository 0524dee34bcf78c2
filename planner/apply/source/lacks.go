package source

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// MissingFile explains a failure from the files on this machine: a sentence
// without a period that replaces the explanation from the log alone, or "".
// workdir is where the job ran.
func MissingFile(c *lang.Campaign, p *lang.Phase, cell int, workdir string, o *offer.Observation) string {
	switch o.Class {
	case failure.MissingFile, failure.MissingModule, failure.BadOutput, failure.Unknown:
	default:
		return ""
	}
	if text := endings(Beside(c, p, nil), p, cell, o.Tail); text != "" {
		return text
	}
	l := lacking{c: c, p: p, workdir: workdir}
	for i := len(o.Tail) - 1; i >= 0; i-- { // the last word is nearest to the cause
		if text := l.line(o.Tail[i]); text != "" {
			return text
		}
	}
	return ""
}

// carriage are the signs of a CR in a log: as it is, and as shells and env show it.
var carriage = lazyregexp.New(`\r|␍|\^M|\\r['’]|env: use -\[v\]S`)

// endings names the scripts that a job could not read for their line endings:
// those that its command names, those that its log says were not found, and where
// the log shows a CR, any.
func endings(f Folders, p *lang.Phase, cell int, tail []string) string {
	names := unreadable(f.OfCell(p, cell))
	for i := 0; i < len(tail) && len(names) == 0; i++ {
		if !missing.MatchString(tail[i]) {
			continue
		}
		for _, word := range words(tail[i]) {
			for _, dir := range f.Dirs {
				if s := (script{Name: word, Path: filepath.Join(dir, word)}); !filepath.IsAbs(word) && len(names) == 0 {
					s.text = f.read(s.Path)
					names = unreadable([]script{s})
				}
			}
		}
	}
	if len(names) == 0 && slices.ContainsFunc(tail, carriage.MatchString) {
		names = f.unreadable()
	}
	if len(names) == 0 {
		return ""
	}
	return "the job runs " + inWindows(names)
}

// words are the possible file names in a line of a log.
func words(line string) (out []string) {
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\"'`‘’“”,;()[]<>", c) }) {
		for _, part := range append([]string{word}, strings.Split(word, ":")...) {
			if part = strings.TrimRight(part, ":."); part != "" && len(part) < 4096 {
				out = append(out, part)
			}
		}
	}
	return out
}

// looked bounds how many files of a folder are looked at for one failure.
const looked = 2000

// unreadable are scripts of the folders that something else than the command runs.
func (f Folders) unreadable() (names []string) {
	n := 0
	for _, dir := range f.Dirs {
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			base := filepath.Base(name)
			switch {
			case err != nil:
				return nil
			case d.IsDir() && name != dir && strings.HasPrefix(base, "."):
				return filepath.SkipDir
			case n >= looked:
				return filepath.SkipAll
			case !d.Type().IsRegular():
				return nil
			}
			n++
			s := script{Path: name, text: f.read(name)}
			if rel, err := filepath.Rel(dir, name); err == nil && s.Unreadable() && !slices.Contains(names, rel) {
				names = append(names, rel)
			}
			return nil
		})
	}
	return names
}

// lacking finds a file that a job missed where it ran, and that this machine
// has.
type lacking struct {
	c       *lang.Campaign
	p       *lang.Phase
	workdir string
}

var (
	missing = lazyregexp.New(`(?i)no such file|required file not found|bad interpreter|not found|not exist|no module named|cannot import|(cannot|can not|can't|could not|couldn't|unable to|failed to|error) (open|opening|find|read|reading|load|loading|access|stat)`)
	module  = lazyregexp.New(`(?i)no module named ['"‘]?([\w.]+)`)
	// copied is a path below the copy of a source: jobs begin there.
	copied = lazyregexp.New(`^.*/\.muster/source/[0-9a-f]{32}/`)
)

// line is about the first file that a line of a log names and that is here.
func (l lacking) line(line string) string {
	if !missing.MatchString(line) {
		return ""
	}
	if m := module.FindStringSubmatch(line); m != nil {
		parts := strings.Split(strings.Trim(m[1], "."), ".")
		for i := len(parts); i > 0; i-- {
			at := path.Join(parts[:i]...)
			for _, name := range []string{at + ".py", at} {
				if text := l.file(name); text != "" {
					return text
				}
			}
		}
		return ""
	}
	for _, word := range words(line) {
		if text := l.file(word); text != "" {
			return text
		}
	}
	return ""
}

// file is what to do about a file that the job did not find, if it is here.
func (l lacking) file(name string) string {
	rel := copied.ReplaceAllString(name, "")
	if _, err := os.Lstat(rel); err == nil && filepath.IsAbs(rel) {
		return "" // it is where it was looked for
	}
	if under, ok := strings.CutPrefix(rel, strings.TrimSuffix(l.workdir, "/")+"/"); ok {
		rel = under
	}
	if rel = path.Clean(filepath.ToSlash(rel)); rel == "." || strings.HasPrefix(rel, ".muster/") || strings.ContainsRune(rel, 0) {
		return ""
	}
	if l.p.Source == nil {
		return l.withoutSource(rel)
	}
	from := l.p.Source.Dir
	for _, dir := range []string{from, l.c.Dir} {
		abs := filepath.Join(dir, filepath.FromSlash(rel))
		at, err := os.Lstat(abs)
		if err != nil || filepath.IsAbs(rel) {
			continue
		}
		within, err := filepath.Rel(from, abs)
		if err != nil {
			continue
		}
		pattern := filepath.ToSlash(within)
		whose := "the campaign's folder"
		if dir != l.c.Dir {
			whose = "the folder of its source"
		}
		if !filepath.IsLocal(within) {
			return fmt.Sprintf("%s is in the campaign's folder, but not in its source, which begins below, in %s. Move it there, or set dir of the source to the folder that has both", rel, shown(l.c.Dir, from))
		}
		if at.IsDir() && holds(l.c, l.p.Source, pattern) {
			return ""
		}
		switch lackOf(l.c, l.p.Source, pattern) {
		case Output:
			return fmt.Sprintf("%s is an output of the campaign, which is never in a source. The job reads it where an input block says, by ${input.NAME}, or below $MUSTER_WORKDIR", rel)
		case excluded:
			return fmt.Sprintf("%s is in %s, but not in its source: exclude leaves it out", rel, whose)
		case notIncluded:
			return fmt.Sprintf("%s is in %s, but not in its source: add it to include", rel, whose)
		}
		return ""
	}
	return ""
}

// withoutSource is about jobs that begin in the workdir, where nobody brings them
// files.
func (l lacking) withoutSource(rel string) string {
	if l.workdir == l.c.Dir || !filepath.IsLocal(rel) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(l.c.Dir, rel)); err != nil {
		return ""
	}
	return fmt.Sprintf("%s is in the campaign's folder, but the job ran in %s. To bring it there: source { include = [%q] }", rel, l.workdir, rel)
}

func shown(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
