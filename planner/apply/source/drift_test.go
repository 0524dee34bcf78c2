package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/tree"
)

// A bay is a shore on this machine.
type bay struct{ t *testing.T }

func (bay) There(_ context.Context, path string) (bool, error) {
	_, err := os.Lstat(path)
	return err == nil, nil
}

func (bay) Digests(_ context.Context, dir string, files []string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := make([]string, len(files))
	for i, f := range files {
		out[i], _ = digestAny(root, f, false)
	}
	return out, nil
}

func (b bay) Push(_ context.Context, path string, _ int64, _ string, r io.ReadSeeker) error {
	archive := filepath.Join(b.t.TempDir(), "archive")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	to, _ := tree.Folder(path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return tree.Unpack(archive, to)
}

// TestEditedCopyIsRefused: a copy of the source that somebody changed in
// place is not used again, here or on a backend, and the file is named.
func TestEditedCopyIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(copied, dir string) error
		says string // "" = it is used
	}{
		"as it was":    {func(string, string) error { return nil }, ""},
		"edited":       {func(copied, _ string) error { return os.WriteFile(copied+"/a.py", []byte("hot fix"), 0o644) }, "a.py is sha256:"},
		"gone":         {func(copied, _ string) error { return os.Remove(copied + "/sub/s.sh") }, "sub/s.sh is gone"},
		"both":         {func(copied, _ string) error { return os.RemoveAll(copied + "/sub") }, "sub/s.sh (and 1 more) is gone"},
		"a file added": {func(copied, _ string) error { return os.WriteFile(copied+"/cache.pyc", nil, 0o644) }, ""},
		"the source has moved on, too": {func(copied, dir string) error {
			return errors.Join(os.WriteFile(copied+"/a.py", []byte("hot fix"), 0o644), os.WriteFile(dir+"/a.py", []byte("new"), 0o644))
		}, ""},
	} {
		for _, far := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", far"}[far], func(t *testing.T) {
				t.Parallel()
				dir := folder(t, map[string]string{"a.py": "x", "sub/s.sh": "s", "sub/t.sh": "t"})
				s := Rules{Dir: dir}
				want := digestOf(t, s)
				tree, err := Read(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				to := filepath.Join(t.TempDir(), "source", want)
				put := func() error {
					if far {
						return Push(t.Context(), s, want, to, bay{t})
					}
					return Copy(t.Context(), s, want, to)
				}
				if err := put(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { removeAll(to) })
				for _, path := range []string{to, to + "/sub", to + "/a.py"} {
					if err := os.Chmod(path, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.edit(to, dir); err != nil {
					t.Fatal(err)
				}
				err = put()
				var drift *DriftError
				switch {
				case c.says == "" && err != nil:
					t.Errorf("refused: %v", err)
				case c.says != "" && (!errors.As(err, &drift) || !strings.Contains(err.Error(), c.says) || drift.Dir != to):
					t.Errorf("%v\nwant %q", err, c.says)
				}
				if name == "the source has moved on, too" {
					return // then another folder is its copy
				}
				var shore Shore
				if far {
					shore = bay{t}
				}
				if told := Drift(t.Context(), tree, to, shore); fmt.Sprint(told) != fmt.Sprint(err) {
					t.Errorf("looked at: %v\nput again: %v", told, err)
				}
				if told := Drift(t.Context(), tree, to+"0", shore); told != nil {
					t.Errorf("no copy: %v", told)
				}
			})
		}
	}
}
