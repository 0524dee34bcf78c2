package style

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// avoided are the words that docs/style.md lists under "Words we do not use".
var avoided = regexp.MustCompile(`(?i)\b(anew|mend(s|ed|ing)?|reckon(s|ed|ing)?|foret(ell|ells|old)|foresee(s|n)?|told of|goes by|go by|is of|lies|stands|wherefore|that which|handed over|hands? over|what is left)\b`)

// described finds a clause in place of a name: "prices [are] what placements cost". A question
// is none: "the next line says what to type".
var described = regexp.MustCompile(`\b(?:is|are|was|were) what ([a-z]+)`)

func describes(text string) string {
	for _, m := range described.FindAllStringSubmatch(text, -1) {
		if m[1] != "to" && m[1] != "kind" {
			return m[0]
		}
	}
	return ""
}

// TestMessages reads every string of the program. Words without a space are
// identifiers, not English.
func TestMessages(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	walk(t, ".go", func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return
		}
		f, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && strings.Contains(s.Value, " ") {
				if word := cmp.Or(avoided.FindString(s.Value), describes(s.Value)); word != "" {
					t.Errorf("%s: %q in %s", files.Position(s.Pos()), word, s.Value)
				}
			}
			return true
		})
	})
}

// standFor is an ordinary verb: "the test binary stands in for muster".
var standFor = regexp.MustCompile(`\bstands (in )?for\b`)

// TestComments reads all comments, those of tests, too.
func TestComments(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	walk(t, ".go", func(path string, text []byte) {
		if strings.HasSuffix(path, ".pb.go") {
			return
		}
		f, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			comment := strings.Join(strings.Fields(c.Text()), " ")
			word := avoided.FindString(standFor.ReplaceAllString(comment, ""))
			if word = cmp.Or(word, describes(comment)); word != "" {
				t.Errorf("%s: %q in %s", files.Position(c.Pos()), word, c.Text())
			}
		}
	})
}

// TestDocs reads every page but docs/style.md, which lists the words.
func TestDocs(t *testing.T) {
	t.Parallel()
	walk(t, ".md", func(path string, text []byte) {
		if strings.HasSuffix(path, "docs/style.md") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := cmp.Or(avoided.FindString(line), describes(line)); word != "" {
				t.Errorf("%s:%d: %q", path, i+1, word)
			}
		}
	})
}

func walk(t *testing.T, ext string, read func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "dist" || d.Name() == ".muster") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ext {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read(path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// layout is a layout of a time of day without its zone. Layouts with a T are read by
// programs.
var layout = regexp.MustCompile(`(^|[^T])15:04(:05)?([^:Z]|$)`)

// TestTimes: a time of day that people read has its zone, and units.FormatTime and
// units.FormatSecond are the only ones that write it.
func TestTimes(t *testing.T) {
	t.Parallel()
	walk(t, ".go", func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "internal/units/moment.go") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if layout.MatchString(code) && !strings.Contains(code, "15:04 UTC") || strings.Contains(code, "time.DateTime") {
				t.Errorf("%s:%d: write units.FormatTime or units.FormatSecond in place of a layout", path, i+1)
			}
		}
	})
}
