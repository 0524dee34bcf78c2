package lazyregexp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The first use of a pattern that does not compile may be at night; and every start of
// muster would compile a pattern that is made with regexp.MustCompile.
func TestEveryPatternCompiles(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if _, ok := d.(*ast.GenDecl); ok && !strings.Contains(path, "/examples/") {
				ast.Inspect(d, func(node ast.Node) bool {
					if f, ok := node.(*ast.SelectorExpr); ok && f.Sel.Name == "MustCompile" {
						t.Errorf("%v: every start of muster compiles this pattern: make it with lazyregexp.New", fset.Position(f.Pos()))
					}
					return true
				})
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "New" || !isLazyregexp(f.X) {
				return true
			}
			if pattern, ok := literal(call.Args[0]); ok {
				if _, err := regexp.Compile(pattern); err != nil {
					t.Errorf("%v: %v", fset.Position(call.Pos()), err)
				}
				n++
			}
			return true
		})
		return nil
	})
	if err != nil || n < 50 {
		t.Errorf("read %d patterns: %v", n, err)
	}
}

func isLazyregexp(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "lazyregexp"
}

// literal is the string of literals joined by +. The few patterns of several parts
// are compiled by the tests of their packages.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, okA := literal(e.X)
		b, okB := literal(e.Y)
		return a + b, okA && okB
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "", false
}
