package tree

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func entry(path, text string, exec bool) Entry {
	return Entry{Path: path, Size: int64(len(text)), Exec: exec, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func TestATreeArrivesWholeWithItsBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to := filepath.Join(dir, "tree")
	var b bytes.Buffer
	if err := Pack(&b, []Entry{entry("run.sh", "#!/bin/sh\n", true), entry("a/b.txt", "b", false), {Path: "l", Link: "a/b.txt"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to+Suffix, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(to+Suffix, to); err != nil {
		t.Fatal(err)
	}
	like, err := os.OpenFile(filepath.Join(dir, "like"), os.O_CREATE, 0o555) // less what the umask takes
	if err != nil {
		t.Fatal(err)
	}
	defer like.Close()
	want, err := like.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if i, err := os.Stat(filepath.Join(to, "run.sh")); err != nil || i.Mode() != want.Mode() {
		t.Errorf("run.sh: %v %v, want %v", i, err, want.Mode())
	}
	if b, err := os.ReadFile(filepath.Join(to, "l")); err != nil || string(b) != "b" {
		t.Errorf("link: %q %v", b, err)
	}
	if _, err := os.Lstat(to + Suffix); err == nil {
		t.Error("the archive is left")
	}
	t.Cleanup(func() { _ = Remove(to) })
}

func TestATreeThatLeadsOutsideLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "/x", "a/../../x"} {
		dir := t.TempDir()
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&tar.Header{Name: "good", Typeflag: tar.TypeReg, Mode: 0o644})
		w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644})
		w.Close()
		archive := filepath.Join(dir, "tree"+Suffix)
		os.WriteFile(archive, b.Bytes(), 0o644)
		if err := Unpack(archive, filepath.Join(dir, "tree")); err == nil {
			t.Errorf("%q was unpacked", name)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Errorf("%q left %v", name, left)
		}
	}
}
