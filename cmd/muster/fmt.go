package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/pmezard/go-difflib/difflib"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
)

// formatter is one run of fmt.
type formatter struct {
	check, diff, recursive, write, list, json bool

	changed []formattedFile
	diags   diag.List
	files   map[string]*hcl.File
}

// A formattedFile is a file that was not canonical, in `muster fmt -json`.
type formattedFile struct {
	File string `json:"file"`
	Diff string `json:"diff,omitempty"` // -diff
}

func fmtCommand(a *app) *command.Command {
	return &command.Command{
		Name: "fmt", Args: "[FILE|DIR|-]…", Short: "rewrite campaign files in the canonical format", MaxArgs: -1,
		Long: `Rewrites *.muster.hcl and *.mustervars.hcl files in the canonical format and prints the names of those that changed.
"-" formats standard input to standard output.`,
		Examples: []command.Example{{"muster fmt", "format this directory"}, {"muster fmt -check -diff -recursive", "in CI: show what is not canonical and exit 1"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			f := &formatter{files: map[string]*hcl.File{}}
			fs.BoolVar(&f.check, "check", false, "change nothing; exit 1 when a file is not canonical")
			fs.BoolVar(&f.diff, "diff", false, "show the changes")
			fs.BoolVar(&f.recursive, "recursive", false, "descend into directories")
			fs.BoolVar(&f.write, "write", true, "write the files; -write=false only lists them")
			fs.BoolVar(&f.list, "list", true, "list files that change")
			fs.BoolVar(&f.json, "json", false, "print what changed as JSON")
			return func(_ context.Context, args []string) error { return f.run(a, args) }
		},
	}
}

func (f *formatter) run(a *app, args []string) error {
	if len(args) == 0 {
		args = []string{a.dir}
	}
	for _, arg := range args {
		if arg == "-" {
			if f.json {
				return command.Usagef("standard input is formatted to standard output: leave -json out")
			}
			if err := f.stdin(a); err != nil {
				return err
			}
			continue
		}
		if err := f.path(a, a.path(arg)); err != nil {
			return err
		}
	}
	a.sources = diag.HCLSources(f.files)
	if f.json {
		changed := append([]formattedFile{}, f.changed...)
		if err := a.encode(map[string]any{"format_version": page.FormatVersion, "changed": changed, "diagnostics": diag.ToJSON(f.diags, a.sources)}); err != nil {
			return err
		}
	}
	if err := a.report(f.diags); err != nil {
		return err
	}
	if f.check && len(f.changed) > 0 {
		return command.Failed
	}
	return nil
}

func (f *formatter) stdin(a *app) error {
	src, err := io.ReadAll(a.stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if !f.parses("<stdin>", src) {
		return nil
	}
	out := hclwrite.Format(src)
	if !bytes.Equal(src, out) {
		f.changed = append(f.changed, formattedFile{File: "<stdin>"})
	}
	if !f.check {
		_, err = a.stdout.Write(out)
	}
	return err
}

func (f *formatter) path(a *app, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	if !info.IsDir() {
		return f.file(a, path, info.Mode())
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != path && (!f.recursive || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !campaignFile(d.Name()):
			return nil
		}
		if info, err = d.Info(); err != nil {
			return err
		}
		return f.file(a, p, info.Mode())
	})
}

func campaignFile(name string) bool {
	return strings.HasSuffix(name, ".muster.hcl") || strings.HasSuffix(name, ".mustervars.hcl")
}

func (f *formatter) file(a *app, path string, mode fs.FileMode) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	name := path
	if rel, err := filepath.Rel(a.dir, path); err == nil {
		name = rel
	}
	if !f.parses(name, src) {
		return nil
	}
	out := hclwrite.Format(src)
	if bytes.Equal(src, out) {
		return nil
	}
	changed := formattedFile{File: name}
	if f.diff {
		changed.Diff, _ = difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(string(src)), B: difflib.SplitLines(string(out)), FromFile: "old/" + name, ToFile: "new/" + name, Context: 3})
	}
	f.changed = append(f.changed, changed)
	if f.list && !f.json {
		a.printf("%s\n", name)
	}
	if !f.json {
		a.printf("%s", changed.Diff)
	}
	if f.check || !f.write {
		return nil
	}
	return replaceFile(path, out, mode.Perm())
}

// parses keeps fmt from touching what it cannot read.
func (f *formatter) parses(name string, src []byte) bool {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	f.files[name] = file
	f.diags.Append(diag.FromHCL(diags)...)
	return !diags.HasErrors()
}
