package lang

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// wildcards begin a pattern, as in the glob of an output.
const wildcards = "*?[{"

// rawInput reads an input with a path.
func (l *loader) rawInput(p *phaseBuild, b *syntax.Block) {
	for _, other := range []string{"from", "from_all", "match"} {
		if b.Expr(other) != nil {
			l.Sure.Errorat(b.Range, "path and "+other, "path names files that no phase makes, %s belongs to files of another phase. Keep one of them in input %q.", other, b.Name())
			p.ok = false
			return
		}
	}
	p.Raw = append(p.Raw, &RawInput{Name: b.Name(), Range: b.Expr("path").Range(), grid: p.Grid})
}

// rawPaths compiles the paths of inputs that no phase makes, and checks each.
func (l *loader) rawPaths(p *phaseBuild) {
	slices.SortFunc(p.Raw, func(a, b *RawInput) int { return strings.Compare(a.Name, b.Name) })
	for _, in := range p.Raw {
		k := slices.IndexFunc(p.job.All("input"), func(b *syntax.Block) bool { return b.Name() == in.Name })
		in.path = l.template(p, p.scope, p.job.All("input")[k].Expr("path"), "a path")
		if in.path == nil || !p.ok {
			continue
		}
		of := in.Classes()
		for class := range of.Len() {
			text := plain(in.path, of.First(class))
			if bad := badRawPath(text); bad != "" {
				l.Perhaps.Append(diag.Diagnostic{Summary: "Invalid path", Subject: &in.Range, Address: p.Address(of.First(class)),
					Detail: fmt.Sprintf("The path %q of the input %q %s.", wording.Clip(text), in.Name, bad)})
				break
			}
			in.list = in.list || IsPattern(text)
		}
	}
}

func badRawPath(text string) string {
	switch {
	case text == "":
		return "is empty"
	case strings.HasPrefix(text, "${"): // how a value that is no text stands in canonical text
		return "is no text"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds a control character"
	case strings.HasPrefix(path.Clean(text)+"/", ".muster/"):
		return "lies in muster's own folder"
	case IsPattern(text) && !doublestar.ValidatePattern(text):
		return "is not a pattern: a bracket or a brace is not closed"
	case strings.HasSuffix(text, "/"):
		return "is a folder; write a pattern of its files, such as " + text + "*"
	}
	return ""
}

// IsPattern reports whether a path stands for all files that match it.
func IsPattern(path string) bool { return strings.ContainsAny(path, wildcards) }

// Classes parts the cells by the path of the input.
func (in *RawInput) Classes() grid.Projection { return in.grid.Project(in.path.Axes()) }

// Path is the path, or the pattern, of a cell as it is written: relative to the
// campaign's folder, or absolute.
func (in *RawInput) Path(cell int) string { return path.Clean(plain(in.path, cell)) }

// List reports whether the input is a list of files: its path is a pattern.
func (in *RawInput) List() bool { return in.list }

// rawPlaces tells places that do not see the campaign's folder.
func (l *loader) rawPlaces(p *phaseBuild) {
	if len(p.Raw) == 0 {
		return
	}
	for _, b := range l.c.Backends {
		if !l.o.Schemas[b.Type].Can.Remote || len(p.Candidates) > 0 && !slices.Contains(p.Candidates, b.Address()) && !slices.Contains(p.Overflow, b.Address()) {
			continue
		}
		l.Perhaps.Errorat(p.Raw[0].Range, "An input that a backend does not see", "phase.%s may run on backend.%s, and muster does not copy files of path = \"…\" there. Write place { candidates = [backend.local.local] } in the phase, or have a phase on this machine make the file and read it by from.", p.Name, b.Address())
		return
	}
}
