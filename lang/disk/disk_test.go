package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree is a campaign's folder with a file, links and a pipe, beside a folder that
// is none of its business.
func tree(t *testing.T) (dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "campaign"), filepath.Join(top, "outside")
	for _, d := range []string{filepath.Join(dir, "sub"), outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{"campaign/in": "in", "campaign/sub/in": "sub", "outside/secret": "hunter2", "campaign-too": "beside"} {
		if err := os.WriteFile(filepath.Join(top, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link-in": "sub/in", "link-abs": filepath.Join(dir, "in"), "link-out": "../outside/secret", "link-dir": outside, "link-env": "/proc/self/environ", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

// TestRooted: functions read what is in the campaign's folder and in the roots of
// the user, through links and not, and nothing else.
func TestRooted(t *testing.T) {
	t.Parallel()
	dir, outside := tree(t)
	d := Disk{Base: dir}
	for path, want := range map[string]string{"in": "in", "sub/../in": "in", "link-in": "sub", "link-abs": "in", filepath.Join(dir, "in"): "in"} {
		if got, err := d.Text(path); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"../outside/secret", "link-out", "link-dir/secret", "link-env", "/proc/self/environ", "/etc/passwd", "../campaign-too", "~/.ssh/config", "/dev/zero", "sub/../../outside/secret", "loop", "../outside/nothing"} {
		var refused *OutsideError
		if got, err := d.Text(path); got != "" || !errors.As(err, &refused) {
			t.Errorf("file(%q): %q, %v", path, got, err)
		}
		if got, err := d.Sum(path); got != "" || !errors.As(err, &refused) {
			t.Errorf("filesha256(%q): %q, %v", path, got, err)
		}
		if got, err := d.Exists(path); got || !errors.As(err, &refused) {
			t.Errorf("fileexists(%q): %t, %v", path, got, err)
		}
	}
	if got, err := d.Text("pipe"); got != "" || err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %q, %v", got, err)
	}
	wide := Disk{Base: dir, Roots: Roots([]string{RootsEnv + "=/nowhere", RootsEnv + "=relative:" + outside + ":/"})}
	if got, err := wide.Text("link-out"); got != "hunter2" || err != nil {
		t.Errorf("with a root: %q, %v", got, err)
	}
	if got, err := wide.Text("/proc/self/environ"); got != "" || err == nil {
		t.Errorf("with / as a root: %d bytes, %v", len(got), err)
	}
}

// TestRootedSet: a glob sees nothing outside, and ends.
func TestRootedSet(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	d := Disk{Base: dir}
	got, err := d.Set(".", "**")
	if err != nil || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "secret") || strings.HasPrefix(s, "link-dir/") }) || !slices.Contains(got, "sub/in") || !slices.Contains(got, "link-abs") {
		t.Errorf("%q, %v", got, err)
	}
	for folder, glob := range map[string]string{"/": "**/**/**", "..": "*", "link-dir": "*", ".": "../*"} {
		if got, err := d.Set(folder, glob); len(got) > 0 || err == nil {
			t.Errorf("fileset(%q, %q): %q, %v", folder, glob, got, err)
		}
	}
	if got, err := d.Set("absent", "*"); len(got) > 0 || err != nil {
		t.Errorf("a folder that is not there: %q, %v", got, err)
	}
	deep := filepath.Join(dir, strings.Repeat("a/", 24))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Set(".", strings.Repeat("**/a/", 10)+"x"); err != nil && err != errEntries {
		t.Errorf("%v", err)
	}
	if _, err := (&bounded{FS: os.DirFS(dir), dir: dir, seen: mostEntries}).ReadDir("."); err != errEntries {
		t.Errorf("past the bound: %v", err)
	}
}
