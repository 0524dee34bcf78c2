// Package canonical finds the files of a campaign that do not stand in the
// canonical format, and how they would. It writes nothing, and leaves alone what
// it cannot read: that is told as the language tells it.
package canonical

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

// A Change is a file that is not canonical.
type Change struct {
	Name     string // relative to the campaign's directory, where it can be
	Path     string
	Mode     fs.FileMode // permissions
	Was, New []byte
}

// Diff is what changes, as a unified diff.
func (c Change) Diff() string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(string(c.Was)), B: difflib.SplitLines(string(c.New)),
		FromFile: "old/" + c.Name, ToFile: "new/" + c.Name, Context: 3})
	return text
}

// A Reader reads files one after another, and collects what is wrong with them.
type Reader struct {
	Dir       string // names are relative to it
	Recursive bool   // folders below those that are read, too, but for hidden ones
	Diags     diag.List

	files map[string]*hcl.File
}

// Sources are the texts that the diagnostics point into.
func (r *Reader) Sources() diag.Sources { return diag.HCLSources(r.files) }

// Source is a text in the canonical format; false where it cannot be read.
func (r *Reader) Source(name string, src []byte) ([]byte, bool) {
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

// Walk tells of each change to a file, or to the campaign and variable files of
// a folder. It ends with the first error: of reading, or what found returns.
func (r *Reader) Walk(path string, found func(Change) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	if !info.IsDir() {
		return r.file(path, info.Mode(), found)
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
		info, err := d.Info()
		if err != nil {
			return err
		}
		return r.file(p, info.Mode(), found)
	})
}

func campaignFile(name string) bool {
	return strings.HasSuffix(name, ".muster.hcl") || strings.HasSuffix(name, ".mustervars.hcl")
}

func (r *Reader) file(path string, mode fs.FileMode, found func(Change) error) error {
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
	return found(Change{Name: name, Path: path, Mode: mode.Perm(), Was: src, New: out})
}
