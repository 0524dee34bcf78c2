package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of what a reader holds in mind at once. Tests and generated code have none.
const (
	mostLines   = 60 // of a function
	mostMethods = 40 // of a type
)

func TestFunctionsAndTypesAreSmall(t *testing.T) {
	root := filepath.Join("..", "..")
	methods := map[string]int{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		room, _ := filepath.Rel(root, filepath.Dir(path))
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1; n > mostLines {
				t.Errorf("%s: %s has %d lines, and at most %d are read at once: give its steps names", files.Position(fn.Pos()), fn.Name.Name, n, mostLines)
			}
			if fn.Recv != nil {
				methods[filepath.ToSlash(room)+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, and a type has at most %d: let another type own a part of its state", name, n, mostMethods)
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
