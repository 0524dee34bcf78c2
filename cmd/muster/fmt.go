package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/diag"
)

// formatter is one run of fmt.
type formatter struct {
	check, diff, write, list, json bool

	sourceFormatter
	changed []formattedFile
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
		Examples: []command.Example{{"muster fmt", "format this directory"}, {"muster fmt -check -diff -recursive", "in CI: show the differences and exit 1"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			f := &formatter{}
			fs.BoolVar(&f.check, "check", false, "change nothing; exit 1 when a file is not canonical")
			fs.BoolVar(&f.diff, "diff", false, "show the changes")
			fs.BoolVar(&f.Recursive, "recursive", false, "descend into directories")
			fs.BoolVar(&f.write, "write", true, "write the files; -write=false only lists them")
			fs.BoolVar(&f.list, "list", true, "list files that change")
			fs.BoolVar(&f.json, "json", false, "print the changes as JSON")
			return func(_ context.Context, args []string) error { return f.run(a, args) }
		},
	}
}

func (f *formatter) run(a *app, args []string) error {
	f.Dir = a.dir
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
		if err := f.Walk(absolute(arg), func(c formatChange) error { return f.take(a, c) }); err != nil {
			return err
		}
	}
	a.sources = f.Sources()
	if f.json {
		changed := append([]formattedFile{}, f.changed...)
		if err := a.encode(map[string]any{"format_version": page.FormatVersion, "changed": changed, "diagnostics": diag.ToJSON(f.Diags, a.sources)}); err != nil {
			return err
		}
	}
	if err := a.report(f.Diags); err != nil {
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
	out, ok := f.Source("<stdin>", src)
	if !ok {
		return nil
	}
	if !bytes.Equal(src, out) {
		f.changed = append(f.changed, formattedFile{File: "<stdin>"})
	}
	if !f.check {
		_, err = a.stdout.Write(out)
	}
	return err
}

// take reports a file that is not canonical, and writes it.
func (f *formatter) take(a *app, c formatChange) error {
	changed := formattedFile{File: c.Name}
	if f.diff {
		changed.Diff = c.Diff()
	}
	f.changed = append(f.changed, changed)
	if f.list && !f.json {
		a.printf("%s\n", c.Name)
	}
	if !f.json {
		a.printf("%s", changed.Diff)
	}
	if f.check || !f.write {
		return nil
	}
	err := atomicfile.Output(c.Path, func(w io.Writer) error {
		_, err := w.Write(c.New)
		return err
	})
	if err != nil {
		return fmt.Errorf("format %s: %w", c.Path, err)
	}
	return nil
}
