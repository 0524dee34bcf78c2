package lang

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/wording"
)

// A cover is an output that is more than one file: a folder, or a pattern.
type cover struct {
	column int
	k      int
	text   string
}

// Bounds of the search for files of one job in the folders of another; the search stops there.
const (
	mostCovers = 1 << 20
	mostTries  = 1 << 21 // patterns tried on paths
)

// A coverage finds the folders and patterns that a path is in.
type coverage struct {
	dirs  map[string][]cover // by folder
	globs map[string][]cover // by the folder before the first wildcard
	tries int
}

// covered reports files that one job would write into a folder, or under a
// pattern, of another: each would take them for its own.
func (ck *checker) covered(columns []textColumn, places map[*phaseBuild]map[string]bool) {
	cov := coverage{dirs: map[string][]cover{}, globs: map[string][]cover{}}
	n := 0
	for i := range columns {
		c := columns[i].(*texts)
		if c.output.Kind == File {
			continue
		}
		for k := range c.Len() {
			if n++; n > mostCovers {
				return
			}
			cov.add(c, cover{i, k, string(c.Append(nil, k))})
		}
	}
	if n == 0 {
		return
	}
	told := map[[2]int]bool{}
	var buf []byte
	for i := range columns {
		c := columns[i].(*texts)
		for k := range c.Len() {
			buf = c.Append(buf[:0], k)
			text := sample(c.output.Kind, string(buf))
			cov.each(text, func(v cover) {
				d := columns[v.column].(*texts)
				mine, theirs := c.proj.First(k), d.proj.First(v.k)
				pair := [2]int{min(i, v.column), max(i, v.column)}
				if told[pair] || c.p == d.p && mine == theirs || c.output.Shared && d.output.Shared || !meet(places[c.p], places[d.p]) {
					return
				}
				if shares(c, d) {
					return
				}
				told[pair] = true
				if c.output.Name == discarded || d.output.Name == discarded {
					ck.lost(c, mine, d, theirs)
					return
				}
				ck.Perhaps.Append(diag.Diagnostic{Summary: "Two jobs would write the same path", Subject: c.at.Ptr(), Address: c.p.Address(mine),
					Detail: fmt.Sprintf("%s would write %q, which is in the %s %q of %s, so both jobs would claim it. Give each job its own folder.",
						c.p.Address(mine), wording.Clip(string(buf)), d.output.Kind, wording.Clip(v.text), d.p.Address(theirs))})
			})
		}
	}
}

func (cov *coverage) add(c *texts, v cover) {
	if c.output.Kind == Dir {
		cov.dirs[v.text] = append(cov.dirs[v.text], v)
		return
	}
	if c.output.Name == discarded {
		v.text += "/**" // with all that is in a folder
	}
	folder := reachable(Glob, v.text)
	cov.globs[folder] = append(cov.globs[folder], v)
}

// sample is a path that an output matches: of a pattern, one that it fits.
func sample(kind OutputKind, text string) string {
	if kind != Glob {
		return text
	}
	return strings.NewReplacer("**", "x", "*", "x", "?", "x").Replace(text)
}

// each visits the covers of a path that are not the path itself.
func (cov *coverage) each(text string, visit func(cover)) {
	for at := path.Dir(text); ; at = path.Dir(at) {
		for _, v := range cov.dirs[at] {
			visit(v)
		}
		for _, v := range cov.globs[at] {
			if cov.tries++; cov.tries > mostTries {
				return
			}
			if v.text != text && doublestar.MatchUnvalidated(v.text, text) {
				visit(v)
			}
		}
		if at == "." || at == "/" {
			return
		}
	}
}
