package functions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/lang/disk"
)

func fileFunctions(d disk.Disk) []entry {
	return []entry{
		{Name: "file", Doc: "the text of a file", impl: onPath(func(p string) (string, error) {
			text, err := d.Text(p)
			if err == nil && !utf8.ValidString(text) {
				err = fmt.Errorf("%s is not UTF-8 text", p)
			}
			return text, err
		})},
		{Name: "filebase64", Doc: "the content of a file in base 64", impl: onPath(func(p string) (string, error) {
			text, err := d.Text(p)
			return base64.StdEncoding.EncodeToString([]byte(text)), err
		})},
		{Name: "filesha256", Doc: "the SHA-256 of a file, hexadecimal", impl: onPath(d.Sum)},
		{Name: "fileexists", Doc: "whether a regular file is there", impl: fileExists(d)},
		{Name: "fileset", Doc: "the files in a folder that match a glob, sorted", impl: fileSet(d)},
		{Name: "basename", Doc: "the last part of a path", impl: onPath(func(p string) (string, error) { return filepath.Base(p), nil })},
		{Name: "dirname", Doc: "a path without its last part", impl: onPath(func(p string) (string, error) { return filepath.Dir(p), nil })},
		{Name: "abspath", Doc: "the absolute path, from the campaign's folder", impl: onPath(d.Abs)},
		{Name: "pathexpand", Doc: "the path with ~ replaced by the home folder", impl: onPath(func(p string) (string, error) { return d.Home(p), nil })},
	}
}

func fileExists(d disk.Disk) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			there, err := d.Exists(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.BoolVal(there), nil
		},
	})
}

func fileSet(d disk.Disk) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "folder", Type: cty.String}, {Name: "glob", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			names, err := d.Set(args[0].AsString(), args[1].AsString())
			if errors.Is(err, doublestar.ErrBadPattern) {
				return cty.NilVal, function.NewArgErrorf(1, "is not a glob: %v", err)
			}
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			if len(names) > maxProduct {
				return cty.NilVal, fmt.Errorf("over %d files match", maxProduct)
			}
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

func onPath(f func(string) (string, error)) function.Function { return ofOne("path", f) }
