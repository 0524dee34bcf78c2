package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/state"
)

// TestSystemRootKeepsTheOwner: a state stays its user's when root writes it; where there is none yet,
// it belongs to the owner of the folder.
func TestSystemRootKeepsTheOwner(t *testing.T) {
	t.Parallel()
	needs.System(t, "gives files away as root")
	if os.Geteuid() != 0 {
		needs.Absent(t, "only root gives files away")
	}
	const user, other = 4321, 5432
	for name, c := range map[string]struct{ folder, state int }{
		"a first state":                  {user, 0},
		"a state in the folder of other": {other, user},
		"a state in a folder of root's":  {0, user},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.state != 0 {
				writeOnce(t, dir)
				give(t, c.state, filepath.Join(dir, "*"))
			}
			give(t, c.folder, dir)
			writeOnce(t, dir)
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			if len(files) < 3 {
				t.Fatalf("only %q", files)
			}
			for _, f := range files {
				info, err := os.Stat(f)
				if err != nil {
					t.Fatal(err)
				}
				if uid := info.Sys().(*syscall.Stat_t).Uid; uid != user {
					t.Errorf("%s belongs to %d, want %d", f, uid, user)
				}
			}
		})
	}
}

// TestSystemRootGivesAwayOnlyItsOwn: a link in the folder of a user does not make root give that user
// another's file.
func TestSystemRootGivesAwayOnlyItsOwn(t *testing.T) {
	t.Parallel()
	needs.System(t, "gives files away as root")
	if os.Geteuid() != 0 {
		needs.Absent(t, "only root gives files away")
	}
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "roots")
	if err := os.WriteFile(away, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := disk{snapshot: filepath.Join(dir, DefaultName)}
	give(t, 4321, dir)
	for name, make := range map[string]func(from, to string) error{"link": os.Symlink, "hard": os.Link} {
		path := filepath.Join(dir, name)
		if err := make(away, path); err != nil {
			t.Fatal(err)
		}
		f, err := d.OpenFile(path, os.O_CREATE|os.O_RDWR, private)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		info, err := os.Stat(away)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
			t.Errorf("%s: root's file belongs to %d", name, uid)
		}
	}
}

func writeOnce(t *testing.T, dir string) {
	t.Helper()
	n, err := open(t, dir).Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	e := state.Intended{Job: state.Job{Address: "phase.p"}, Attempt: state.Attempt{N: 1, Token: "1"}}
	if err := errors.Join(n.Append(e), n.Sync(ctx), n.Close(ctx)); err != nil {
		t.Fatal(err)
	}
}

func give(t *testing.T, uid int, pattern string) {
	t.Helper()
	files, _ := filepath.Glob(pattern)
	for _, f := range files {
		if err := os.Chown(f, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
}
