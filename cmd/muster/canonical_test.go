package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// In a folder only what belongs to a campaign is read, below it only when asked
// for, and what cannot be read is told and left alone.
func TestFormatWalk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, src := range map[string]string{
		"a.muster.hcl":        "campaign   \"a\" {}\n",
		"fine.muster.hcl":     "campaign \"b\" {}\n",
		"v.mustervars.hcl":    "x=1\n",
		"broken.muster.hcl":   "campaign {\n",
		"other.hcl":           "x=1\n",
		"sub/c.muster.hcl":    "x=1\n",
		".git/d.muster.hcl":   "x=1\n",
		"sub/.h/e.muster.hcl": "x=1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for recursive, want := range map[bool][]string{false: {"a.muster.hcl", "v.mustervars.hcl"}, true: {"a.muster.hcl", "sub/c.muster.hcl", "v.mustervars.hcl"}} {
		r := sourceFormatter{Dir: dir, Recursive: recursive}
		var got []string
		if err := r.Walk(dir, func(c formatChange) error {
			got = append(got, c.Name)
			if c.Path != filepath.Join(dir, c.Name) {
				t.Errorf("%s is at %s", c.Name, c.Path)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("recursive %v: %q, not %q", recursive, got, want)
		}
		if !r.Diags.HasErrors() || string(r.Sources()("broken.muster.hcl")) != "campaign {\n" {
			t.Errorf("the broken file is told as %v, with source %q", r.Diags, r.Sources()("broken.muster.hcl"))
		}
	}
	if err := new(sourceFormatter).Walk(filepath.Join(dir, "not there"), nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestFormatDiff(t *testing.T) {
	t.Parallel()
	out, ok := new(sourceFormatter).Source("v", []byte("a=1\nlong = 2\n"))
	if !ok {
		t.Fatal("not read")
	}
	const want = "--- old/v\n+++ new/v\n@@ -1,3 +1,3 @@\n-a=1\n+a    = 1\n long = 2\n \n"
	if got := (formatChange{Name: "v", Was: []byte("a=1\nlong = 2\n"), New: out}).Diff(); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
