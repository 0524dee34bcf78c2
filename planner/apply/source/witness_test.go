package source

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWitness: whatever changes the digest of a source is seen without its
// campaign, and a file beside it that only the campaign could judge, too.
func TestWitness(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		holds  bool
	}{
		{"nothing", func(*testing.T, string) {}, true},
		{"the bytes of an output", func(t *testing.T, dir string) { write(t, dir, "out/1", "other") }, true},
		{"what the patterns leave out", func(t *testing.T, dir string) { write(t, dir, "notes.txt", "new") }, true},
		{"the bytes of a file", func(t *testing.T, dir string) { write(t, dir, "a.py", "other!!") }, false},
		{"a file more", func(t *testing.T, dir string) { write(t, dir, "lib/new.py", "") }, false},
		{"a file more, where outputs lie", func(t *testing.T, dir string) { write(t, dir, "out/2", "") }, false},
		{"a file less", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "lib/b.py")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a file by another name", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "lib/b.py"), filepath.Join(dir, "lib/c.py")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a file that may be run", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "a.py"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a link in the place of a file", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "a.py")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("lib/b.py", filepath.Join(dir, "a.py")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"no folder", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, cache := t.TempDir(), t.TempDir()
			for _, name := range []string{"a.py", "lib/b.py", "out/1"} {
				write(t, dir, name, "text of "+name)
			}
			s := Spec{Dir: dir, Exclude: []string{"*.txt"}, Never: func(rel string) bool { return rel == "out/1" }, Cache: cache}
			w, err := Attest(t.Context(), s)
			if err != nil || len(w.Files) != 2 {
				t.Fatalf("%+v, %v", w, err)
			}
			c.change(t, dir)
			for _, cache := range []string{cache, ""} {
				if got := w.Holds(t.Context(), cache); got != c.holds {
					t.Errorf("holds: %t, want %t", got, c.holds)
				}
			}
		})
	}
}
