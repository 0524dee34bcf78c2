package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/pmezard/go-difflib/difflib"

	"github.com/muster-run/muster/internal/diag"
)

// A formatChange is a file that is not canonical.
type formatChange struct {
	Name     string // relative to the campaign's directory, where it can be
	Path     string
	Was, New []byte
}

// Diff is the change, as a unified diff.
func (c formatChange) Diff() string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(string(c.Was)), B: difflib.SplitLines(string(c.New)),
		FromFile: "old/" + c.Name, ToFile: "new/" + c.Name, Context: 3})
	return text
}

// A sourceFormatter formats files one after another and collects their diagnostics.
// It writes nothing.
type sourceFormatter struct {
	Dir       string // names are relative to it
	Recursive bool   // folders below those that are read, too, but for hidden ones
	Diags     diag.List

	files map[string]*hcl.File
}

// Sources are the texts that the diagnostics point into.
func (r *sourceFormatter) Sources() diag.Sources { return diag.HCLSources(r.files) }

// Source is a text in the canonical format; false where it cannot be read.
func (r *sourceFormatter) Source(name string, src []byte) ([]byte, bool) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if r.files == nil {
		r.files = map[string]*hcl.File{}
	}
	r.files[name] = file
	r.Diags.Append(diag.FromHCL(diags)...)
	if diags.HasErrors() {
		return nil, false
	}
	return hclwrite.Format(src), true
}

// Walk calls found for each file that would change: path itself, or the campaign and
// variable files in that folder. It ends with the first error of reading or of found.
func (r *sourceFormatter) Walk(path string, found func(formatChange) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	if !info.IsDir() {
		return r.file(path, found)
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != path && (!r.Recursive || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !campaignFile(d.Name()):
			return nil
		}
		return r.file(p, found)
	})
}

func campaignFile(name string) bool {
	return strings.HasSuffix(name, ".muster.hcl") || strings.HasSuffix(name, ".mustervars.hcl")
}

func (r *sourceFormatter) file(path string, found func(formatChange) error) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	name := path
	if rel, err := filepath.Rel(r.Dir, path); err == nil {
		name = rel
	}
	out, ok := r.Source(name, src)
	if !ok || bytes.Equal(src, out) {
		return nil
	}
	return found(formatChange{Name: name, Path: path, Was: src, New: out})
}
