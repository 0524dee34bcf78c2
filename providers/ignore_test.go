package providers

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder is kept from git unless its user wrote a .gitignore or it leads elsewhere, and goes
// when nothing else is in it.
func TestKeepFromGit(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	in := func(name, text string) string {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, ignoreFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, c := range []struct {
		dir, holds string
		goes       bool
	}{
		{in("fresh", ""), ignoreAll, true},
		{in("again", ignoreAll), ignoreAll, true},
		{in("theirs", "bin\n"), "bin\n", false},
	} {
		KeepFromGit(c.dir)
		if text, err := os.ReadFile(filepath.Join(c.dir, ignoreFile)); err != nil || string(text) != c.holds {
			t.Errorf("%s: %q, %v", c.dir, text, err)
		}
		RemoveEmpty(c.dir)
		if _, err := os.Stat(c.dir); os.IsNotExist(err) != c.goes {
			t.Errorf("%s: %v", c.dir, err)
		}
	}
	elsewhere, link := in("elsewhere", ""), filepath.Join(top, "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	KeepFromGit(link)
	KeepFromGit(filepath.Join(top, "nothing"))
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("a file was written through a link: %v, %v", left, err)
	}
	full := in("full", ignoreAll)
	if err := os.WriteFile(filepath.Join(full, "log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	RemoveEmpty(full)
	if left, err := os.ReadDir(full); err != nil || len(left) != 2 {
		t.Errorf("of a folder that is not empty there is %v, %v", left, err)
	}
}
