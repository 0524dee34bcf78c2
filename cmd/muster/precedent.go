package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/precedent"
)

func precedentCommand(a *app) *command.Command {
	return &command.Command{
		Name: "precedent", Short: "record finished phases for later campaigns", MaxArgs: 0,
		Long: `Appends a line for each finished phase to ` + precedent.File + `: a digest of its command, its backend and resources, completed
jobs, failures, runtimes and costs. The file is the nearest of that name in the campaign's folder and
those above it, up to the top of the git checkout; if there is none, muster creates it at the top. Keep it in git: the plan of
another campaign shows the line for a phase with the same command that has no completed job yet.`,
		Examples: []command.Example{{"muster precedent", "after a campaign"}, {"muster precedent -dry-run", "see the lines first"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			r := recording{app: a}
			r.v.register(fs)
			fs.BoolVar(&r.dryRun, "dry-run", false, "print the lines, and write nothing")
			fs.BoolVar(&r.json, "json", false, "print the lines as JSON")
			return r.run
		},
	}
}

// recording is one run of the command.
type recording struct {
	*app
	v            varFlags
	dryRun, json bool
}

func (r *recording) run(ctx context.Context, _ []string) error {
	c, st, err := r.open(ctx, r.v)
	if err != nil {
		return err
	}
	f := precedentsOf(c.Dir)
	has, diags := f.read(r.now())
	if err := r.report(diags); err != nil {
		return err
	}
	lines := precedent.New(precedent.Finished(c, st), has)
	if !r.dryRun {
		if err := f.add(lines); err != nil {
			return fmt.Errorf("write %s: %w", f.path(), err)
		}
	}
	if r.json {
		return r.encode(map[string]any{"format_version": page.FormatVersion, "file": f.path(), "lines": append([]precedent.Record{}, lines...)})
	}
	for _, l := range lines {
		r.printf("%s\n", l.Text())
	}
	switch {
	case len(lines) == 0:
		r.printf("No phase has finished since its last line in %s.\n", term.CleanLine(f.path()))
	case r.dryRun:
		r.printf("\nNothing was written. `muster precedent` appends %s to %s.\n", units.Count(len(lines), "line"), term.CleanLine(f.path()))
	default:
		r.printf("\nAppended %s to %s. Commit the file: plans of other campaigns below its folder read it.\n", units.Count(len(lines), "line"), term.CleanLine(f.path()))
	}
	return nil
}

// A precedentsFile is the file of a workspace: its folder, and the checkout that
// a link in its place must not leave.
type precedentsFile struct{ top, dir string }

// precedentsOf is the nearest file above a campaign; where there is none, the file to make.
func precedentsOf(dir string) precedentsFile {
	f := precedentsFile{top: trust.Checkout(dir, os.Getenv("HOME"))}
	for f.dir = dir; f.dir != f.top; f.dir = filepath.Dir(f.dir) {
		if _, err := os.Lstat(f.path()); err == nil {
			break
		}
	}
	return f
}

func (f precedentsFile) path() string { return filepath.Join(f.dir, precedent.File) }

// open opens the file, unless it is a link that leads out of the checkout.
func (f precedentsFile) open(flag int) (*os.File, error) {
	root, err := os.OpenRoot(f.top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, err := filepath.Rel(f.top, f.path())
	if err != nil {
		return nil, err
	}
	if info, err := root.Stat(rel); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return root.OpenFile(rel, flag, 0o644)
}

// mostIgnored is how many ignored lines are named one by one.
const mostIgnored = 3

// read reads the file, and warns of lines that it ignores.
func (f precedentsFile) read(now time.Time) (lines []precedent.Record, diags diag.List) {
	file, err := f.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var problems []precedent.Problem
	if err == nil {
		defer file.Close()
		lines, problems, err = precedent.Read(file, now)
	}
	if err != nil {
		diags.Warnf("Precedents are not read", "%s: %v.", f.path(), err)
	}
	for i, p := range problems {
		if i == mostIgnored {
			diags.Warnf("Lines of precedents are ignored", "%s: %d more after line %d.", f.path(), len(problems)-i, problems[i-1].Line)
			break
		}
		diags.Warnf("A line of precedents is ignored", "%s:%d: %s. Correct or remove the line.", f.path(), p.Line, p.Why)
	}
	return lines, diags
}

// add appends lines in one write.
func (f precedentsFile) add(lines []precedent.Record) error {
	if len(lines) == 0 {
		return nil
	}
	var text []byte
	for _, l := range lines {
		line, err := l.Encode()
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	file, err := f.open(os.O_RDWR | os.O_CREATE | os.O_APPEND)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		if _, err := file.ReadAt(last, info.Size()-1); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if last[0] != '\n' { // somebody's editor left it out
		text = append([]byte{'\n'}, text...)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
