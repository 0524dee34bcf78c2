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
func (pr *phaseReader) rawInput(p *phaseBuild, b *syntax.Block) {
	for _, other := range []string{"from", "from_all", "match", "require"} {
		if b.Expr(other) != nil {
			pr.Sure.Errorat(b.Range, "path and "+other, "path names files that no phase makes, %s belongs to files of another phase. Keep one of them in input %q.", other, b.Name())
			p.ok = false
			return
		}
	}
	in := &RawInput{Name: b.Name(), Range: b.Expr("path").Range(), grid: p.Grid}
	if at := b.Expr("backend"); at != nil {
		in.Backend = pr.backends.Place(b, "backend")
		if strings.HasPrefix(in.Backend, "local.") {
			pr.Wrong(at, "backend", "Files of this machine need none. Write path relative to the campaign's folder, or absolute.")
			in.Backend = ""
		} else if in.Backend != "" && pr.backends.Rents(in.Backend) {
			pr.Wrong(at, "backend", "backend.%s rents machines, so that no file is there before one is rented. Name a file of this machine, which muster sends there, or read a file of the image by its path in the command.", in.Backend)
			in.Backend = ""
		}
		if in.Backend == "" {
			p.ok = false
			return
		}
	}
	p.Raw = append(p.Raw, in)
}

// rawPaths compiles the paths of inputs that no phase makes, and checks each.
func (cp *compiler) rawPaths(p *phaseBuild) {
	slices.SortFunc(p.Raw, func(a, b *RawInput) int { return strings.Compare(a.Name, b.Name) })
	for _, in := range p.Raw {
		k := slices.IndexFunc(p.job.All("input"), func(b *syntax.Block) bool { return b.Name() == in.Name })
		in.path = cp.template(p, p.scope, p.job.All("input")[k].Expr("path"), "a path")
		if in.path == nil || !p.ok {
			continue
		}
		of := in.Classes()
		for class := range of.Len() {
			text := plain(in.path, of.First(class))
			if bad := badRawPath(text); bad != "" {
				cp.Perhaps.Append(diag.Diagnostic{Summary: "Invalid path", Subject: &in.Range, Address: p.Address(of.First(class)),
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
	case strings.HasPrefix(text, "${"): // how a value that is no text is written in canonical text
		return "is no text"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds a control character"
	case strings.HasPrefix(path.Clean(text)+"/", ".muster/"):
		return "is in muster's own folder"
	case IsPattern(text) && !doublestar.ValidatePattern(text):
		return "is not a pattern: a bracket or a brace is not closed"
	case strings.HasSuffix(text, "/"):
		return "is a folder; write a pattern of its files, such as " + text + "*"
	}
	return ""
}

// IsPattern reports whether a path names all files that match it.
func IsPattern(path string) bool { return strings.ContainsAny(path, wildcards) }

// Classes parts the cells by the path of the input.
func (in *RawInput) Classes() grid.Projection { return in.grid.Project(in.path.Axes()) }

// Path is the path, or the pattern, of a cell as it is written: relative to the
// campaign's folder, or absolute.
func (in *RawInput) Path(cell int) string { return path.Clean(plain(in.path, cell)) }

// List reports whether the input is a list of files: its path is a pattern.
func (in *RawInput) List() bool { return in.list }
