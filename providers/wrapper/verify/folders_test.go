package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	for k := range 10 {
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("a/f%d", k)), nil, 0o644)
	}
	os.Symlink("nowhere", filepath.Join(dir, "a/broken"))
	f := NewFolders(dir)
	for range 2 { // before and after the folder is listed
		for path, want := range map[string]bool{
			"a": true, "a/b": true, "a/f0": true, "a/f9": true, "a/f10": false, "a/broken": true, "c/d/e": false, "c": false, "a/f0/x": false,
			filepath.Join(dir, "a/f3"): true, "/": true, "/no-such-folder-of-anybody/x": false,
		} {
			if got := f.Has(path); got != want {
				t.Errorf("%s: %v", path, got)
			}
		}
	}
}
