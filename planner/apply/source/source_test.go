package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func digestOf(t *testing.T, s Rules) string {
	t.Helper()
	got, err := Read(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got.Digest
}

func TestDigestSees(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		change  func(dir string) error
		changes bool
	}{
		{"a changed byte", func(d string) error { return os.WriteFile(d+"/a.py", []byte("y"), 0o644) }, true},
		{"a new file", func(d string) error { return os.WriteFile(d+"/b.py", nil, 0o644) }, true},
		{"a new name", func(d string) error { return os.Rename(d+"/a.py", d+"/c.py") }, true},
		{"an exec bit", func(d string) error { return os.Chmod(d+"/a.py", 0o755) }, true},
		{"a link's target", func(d string) error { os.Remove(d + "/l.py"); return os.Symlink("b", d+"/l.py") }, true},
		{"another time", func(d string) error { return os.Chtimes(d+"/a.py", time.Time{}, time.Unix(1, 0)) }, false},
		{"a file that is not included", func(d string) error { return os.WriteFile(d+"/notes.txt", []byte("x"), 0o644) }, false},
		{"a file that is excluded", func(d string) error { return os.WriteFile(d+"/sub/skip.py", []byte("x"), 0o644) }, false},
		{"an output", func(d string) error { return os.WriteFile(d+"/out.py", []byte("x"), 0o644) }, false},
		{"a file of muster's", func(d string) error { return os.WriteFile(d+"/.muster/x.py", []byte("x"), 0o644) }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"a.py": "x", "sub/s.py": "s", ".muster/k": ""})
			if err := os.Symlink("a", dir+"/l.py"); err != nil {
				t.Fatal(err)
			}
			s := Rules{Dir: dir, Include: []string{"**/*.py"}, Exclude: []string{"**/skip.py"}, Never: func(rel string) bool { return rel == "out.py" }}
			before := digestOf(t, s)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			if after := digestOf(t, s); (before != after) != c.changes {
				t.Errorf("%s → %s", before, after)
			}
		})
	}
}

func TestCacheIsUsedAndNotTrustedForYoungFiles(t *testing.T) {
	t.Parallel()
	dir, cache := folder(t, map[string]string{"old": "1", "young": "1"}), t.TempDir()
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir+"/old", past, past); err != nil {
		t.Fatal(err)
	}
	s := Rules{Dir: dir, Cache: cache}
	first := digestOf(t, s)
	// The same size, time and inode: only a cache takes these for the same.
	for _, name := range []string{"old", "young"} {
		info, err := os.Stat(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte("2"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir+"/"+name, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Read(t.Context(), Rules{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got.Files[0].Digest == fresh.Files[0].Digest {
		t.Error("the old file was read again")
	}
	if got.Files[1].Digest != fresh.Files[1].Digest {
		t.Error("the young file was not read again")
	}
	if got.Digest == first {
		t.Error("the change of the young file was not seen")
	}
}

func TestCopyIsReadOnlyAndNamedByItsContent(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.py": "x", "sub/s.sh": "s"})
	if err := os.Chmod(dir+"/sub/s.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	s := Rules{Dir: dir}
	want := digestOf(t, s)
	to := filepath.Join(t.TempDir(), "source", want)
	t.Cleanup(func() { removeAll(to) })
	for range 2 { // the second finds it there
		if err := Copy(t.Context(), s, want, to); err != nil {
			t.Fatal(err)
		}
	}
	if got := digestOf(t, Rules{Dir: to}); got != want {
		t.Errorf("the copy has digest %s, not %s", got, want)
	}
	for _, name := range []string{"a.py", "sub", "sub/s.sh"} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s is writable: %v %v", name, info.Mode(), err)
		}
	}
	if err := os.WriteFile(dir+"/a.py", []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	var changed *changedError
	if err := Copy(t.Context(), s, want, to+"x"); !errors.As(err, &changed) || !strings.Contains(err.Error(), "plan again") {
		t.Errorf("a source that changed since the plan: %v", err)
	}
}

// TestVanishingFiles: what goes away while a source is read is no part of it, be
// it a file or a folder; one that an include names is missed.
func TestVanishingFiles(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"b.tmp", "sub", "z/y/t.tmp"} {
		for _, include := range [][]string{nil, {"**"}, {"*.py", "sub", "*.tmp", "z/**"}} {
			dir := folder(t, map[string]string{"a.py": "x", "b.tmp": "x", "sub/c.tmp": "x", "z/y/t.tmp": "x"})
			s := Rules{Dir: dir, Include: include, Never: func(rel string) bool {
				if rel == "a.py" || rel == gone {
					if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
						t.Error(err)
					}
				}
				return false
			}}
			got, err := Read(t.Context(), s)
			if err != nil {
				t.Errorf("%s of %q: %v", gone, include, err)
			}
			for _, f := range got.Files {
				if strings.HasPrefix(f.Path, gone) {
					t.Errorf("%s of %q: read %s", gone, include, f.Path)
				}
			}
		}
	}
	dir := folder(t, map[string]string{"a.py": "x"})
	s := Rules{Dir: dir, Include: []string{"./a.py"}, Never: func(string) bool { return os.Remove(dir+"/a.py") == nil && false }}
	if _, err := Read(t.Context(), s); err == nil || !strings.Contains(err.Error(), "a.py") {
		t.Errorf("a named file is gone: %v", err)
	}
	if _, err := Read(t.Context(), Rules{Dir: dir + "/none"}); err == nil {
		t.Error("no folder, and no error")
	}
}
