package staging_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A liar is a host that lists what it likes, and sends what it likes.
type liar struct {
	providers.Files
	lists []providers.FileInfo
	sends string
}

func (l liar) List(context.Context, string, []string) ([]providers.FileInfo, error) {
	return l.lists, nil
}

func (l liar) Pull(_ context.Context, _, _ string, _ int64, w io.Writer) error {
	_, err := io.Copy(w, strings.NewReader(l.sends))
	return err
}

// TestLyingHost: what a host lists outside the declared output is not copied, and
// more bytes than it announced are not taken; nothing outside the folder is written.
func TestLyingHost(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/w/out/../../../home/.ssh/authorized_keys", "/w/out/../x", "../x", "x", "/w/other/x", "/etc/passwd", "/w/out", "/w/out/", "/w/out//x", "/w/out/a\x00b", "/w/output/x",
	} {
		for _, o := range []state.Output{{Name: "g", Path: "out/*", Files: 1}, {Name: "d", Path: "out", Files: 1}} {
			top := t.TempDir()
			to := filepath.Join(top, "a", "b")
			l := liar{lists: []providers.FileInfo{{Path: path, Size: 4}}, sends: "evil"}
			if path == "/w/out" && o.Name == "g" || path == "/w/out/x" {
				continue
			}
			if got, err := staging.Fetch(t.Context(), staging.Side{Files: l, Backend: "ssh.lab", Workdir: "/w"}, o, to, nil); err == nil {
				t.Errorf("%s: %q was copied: %+v", o.Name, path, got)
			}
			if files, _ := filepath.Glob(filepath.Join(top, "*", "*", "*")); len(files) > 0 {
				t.Errorf("%s: %q left %q", o.Name, path, files)
			}
		}
	}
	to := t.TempDir()
	long := liar{lists: []providers.FileInfo{{Path: "/w/out/x", Size: 6}}, sends: strings.Repeat("x", 1<<20)}
	if _, err := staging.Fetch(t.Context(), staging.Side{Files: long, Backend: "ssh.lab", Workdir: "/w"}, state.Output{Name: "g", Path: "out/*", Files: 1}, to, nil); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("more bytes than listed: %v", err)
	}
	_ = filepath.WalkDir(to, func(path string, d os.DirEntry, _ error) error {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 6 {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
		return nil
	})
	if _, err := staging.Fetch(t.Context(), staging.Side{Files: long, Workdir: "/w"}, state.Output{Name: "f", Path: "../../x", Size: 1 << 20}, to, nil); err == nil {
		t.Error("a file of the state outside the workdir was copied")
	}
	out, to := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(to, "out")); err != nil {
		t.Fatal(err)
	}
	honest := liar{lists: []providers.FileInfo{{Path: "/w/out/x", Size: 4}}, sends: "text"}
	if _, err := staging.Fetch(t.Context(), staging.Side{Files: honest, Workdir: "/w"}, state.Output{Name: "g", Path: "out/*", Files: 1}, to, nil); err == nil {
		t.Error("through a link that leads out")
	}
	if files, _ := os.ReadDir(out); len(files) > 0 {
		t.Error("a file was written through the link")
	}
	fresh := t.TempDir()
	if _, err := staging.Fetch(t.Context(), staging.Side{Files: honest, Workdir: "/w"}, state.Output{Name: "g", Path: "out/*", Files: 1}, fresh, nil); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(fresh, "out", "x")); err != nil || !bytes.Equal(b, []byte("text")) {
		t.Errorf("an honest host's file: %q, %v", b, err)
	}
	if left, _ := filepath.Glob(filepath.Join(fresh, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
