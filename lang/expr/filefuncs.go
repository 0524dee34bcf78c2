package expr

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxTemplate bounds a template file, in bytes.
const maxTemplate = 1 << 20

func fileFunctions(base string) []Function {
	return []Function{
		{Name: "file", Doc: "the text of a file", impl: onPath(func(p string) (string, error) {
			b, err := readFile(base, p)
			if err == nil && !utf8.Valid(b) {
				err = fmt.Errorf("%s is not UTF-8 text", p)
			}
			return string(b), err
		})},
		{Name: "filebase64", Doc: "the content of a file in base 64", impl: onPath(func(p string) (string, error) {
			b, err := readFile(base, p)
			return base64.StdEncoding.EncodeToString(b), err
		})},
		{Name: "filesha256", Doc: "the SHA-256 of a file, hexadecimal", impl: onPath(fileSHA256(base))},
		{Name: "fileexists", Doc: "whether a regular file is there", impl: fileExists(base)},
		{Name: "fileset", Doc: "the files in a folder that match a glob, sorted", impl: fileSet(base)},
		{Name: "basename", Doc: "the last part of a path", impl: onPath(func(p string) (string, error) { return filepath.Base(p), nil })},
		{Name: "dirname", Doc: "a path without its last part", impl: onPath(func(p string) (string, error) { return filepath.Dir(p), nil })},
		{Name: "abspath", Doc: "the absolute path, from the campaign's folder", impl: onPath(func(p string) (string, error) { return filepath.Abs(resolvePath(base, p)) })},
		{Name: "pathexpand", Doc: "the path with ~ replaced by the home folder", impl: onPath(func(p string) (string, error) { return expandHome(p), nil })},
	}
}

// ReadsFiles reports whether what a function gives depends on more than its
// arguments: on files, or on where folders lie.
func ReadsFiles(function string) bool {
	switch function {
	case "basename", "dirname":
		return false
	case "templatefile":
		return true
	}
	return slices.ContainsFunc(fileFunctions(""), func(f Function) bool { return f.Name == function })
}

func expandHome(p string) string {
	if p != "~" && !strings.HasPrefix(p, "~/") {
		return p
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p
	}
	return filepath.Join(home, p[1:])
}

func resolvePath(base, p string) string {
	p = expandHome(p)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

// openFile opens a regular file; a pipe or device would never end.
func openFile(base, p string) (*os.File, error) {
	full := resolvePath(base, p)
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", p)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", p, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", p)
	}
	f, err := os.Open(full)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, errors.Unwrap(err))
	}
	return f, nil
}

func readFile(base, p string) ([]byte, error) {
	f, err := openFile(base, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	if len(b) > maxText {
		return nil, fmt.Errorf("%s is larger than %d MiB", p, maxText>>20)
	}
	return b, nil
}

func fileExists(base string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			info, err := os.Stat(resolvePath(base, args[0].AsString()))
			return cty.BoolVal(err == nil && info.Mode().IsRegular()), nil
		},
	})
}

func fileSet(base string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "folder", Type: cty.String}, {Name: "glob", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			root := os.DirFS(resolvePath(base, args[0].AsString()))
			names, err := doublestar.Glob(root, filepath.ToSlash(filepath.Clean(args[1].AsString())), doublestar.WithFilesOnly())
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(1, "is not a glob: %v", err)
			}
			if len(names) > maxProduct {
				return cty.NilVal, fmt.Errorf("over %d files match", maxProduct)
			}
			slices.Sort(names)
			list := make([]cty.Value, len(names))
			for i, n := range names {
				list[i] = cty.StringVal(n)
			}
			if len(list) == 0 {
				return cty.SetValEmpty(cty.String), nil
			}
			return cty.SetVal(list), nil
		},
	})
}

// templateFile renders the template in a file. Its expressions see the given
// variables and all functions but templatefile itself.
func templateFile(base string, funcs func() map[string]function.Function) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		name := args[0].AsString()
		src, err := readFile(base, name)
		if err != nil {
			return cty.DynamicVal, function.NewArgError(0, err)
		}
		if len(src) > maxTemplate {
			return cty.DynamicVal, function.NewArgErrorf(0, "the template %s is larger than 1 MiB", name)
		}
		if err := CheckSource(src); err != nil {
			return cty.DynamicVal, function.NewArgErrorf(0, "the template %s: %v", name, err)
		}
		e, ds := hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
		if ds.HasErrors() {
			return cty.DynamicVal, function.NewArgErrorf(0, "%s", ds.Error())
		}
		vars := map[string]cty.Value{}
		if ty := args[1].Type(); !ty.IsObjectType() && !ty.IsMapType() {
			return cty.DynamicVal, function.NewArgErrorf(1, "must be a map of variables")
		}
		for it := args[1].ElementIterator(); it.Next(); {
			k, v := it.Element()
			if k.AsString() != frameName {
				vars[k.AsString()] = v
			}
		}
		v, mds := Eval(e, &hcl.EvalContext{Variables: vars, Functions: funcs()})
		if mds.HasErrors() {
			return cty.DynamicVal, function.NewArgErrorf(0, "%v", mds.Err())
		}
		return v, nil
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   func([]cty.Value) (cty.Type, error) { return cty.DynamicPseudoType, nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[1].IsWhollyKnown() {
				return cty.DynamicVal, nil
			}
			return render(args)
		},
	})
}
