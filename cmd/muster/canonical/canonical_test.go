package canonical_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-run/muster/cmd/muster/canonical"
)

// In a folder only what belongs to a campaign is read, below it only when asked
// for, and what cannot be read is told and left alone.
func TestWalk(t *testing.T) {
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
		if err := os.WriteFile(path, []byte(src), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o640); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	for recursive, want := range map[bool][]string{false: {"a.muster.hcl", "v.mustervars.hcl"}, true: {"a.muster.hcl", "sub/c.muster.hcl", "v.mustervars.hcl"}} {
		r := canonical.Reader{Dir: dir, Recursive: recursive}
		var got []string
		if err := r.Walk(dir, func(c canonical.Change) error {
			got = append(got, c.Name)
			if c.Mode != 0o640 || c.Path != filepath.Join(dir, c.Name) {
				t.Errorf("%s has mode %v at %s", c.Name, c.Mode, c.Path)
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
	if err := new(canonical.Reader).Walk(filepath.Join(dir, "not there"), nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	out, ok := new(canonical.Reader).Source("v", []byte("a=1\nlong = 2\n"))
	if !ok {
		t.Fatal("not read")
	}
	const want = "--- old/v\n+++ new/v\n@@ -1,3 +1,3 @@\n-a=1\n+a    = 1\n long = 2\n \n"
	if got := (canonical.Change{Name: "v", Was: []byte("a=1\nlong = 2\n"), New: out}).Diff(); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
