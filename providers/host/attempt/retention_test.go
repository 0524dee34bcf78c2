package attempt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// The newest checkpoints of a job stay, and everything that no launch of it wrote.
//
// Requirement: STO-08
func TestRetain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		glob    string
		before  []string // there before the launch
		written []string // by the launch, the oldest first: NAME, NAME->TARGET or -NAME
		failed  bool
		lowest  string
		highest string
		stay    string
	}{
		"lowest":                 {lowest: "loss", written: []string{"ck/s-1-loss=0.2.pt", "ck/s-2-loss=0.1.pt", "ck/s-3-loss=0.3.pt", "ck/s-4-loss=0.4.pt", "ck/s-5-loss=nan.pt"}, stay: "ck/s-2-loss=0.1.pt ck/s-4-loss=0.4.pt ck/s-5-loss=nan.pt"},
		"highest":                {highest: "acc", written: []string{"ck/s-1-acc=-1e-3", "ck/s-2-acc=-2", "ck/s-3-acc=-3", "ck/s-4-acc=-4"}, stay: "ck/s-1-acc=-1e-3 ck/s-3-acc=-3 ck/s-4-acc=-4"},
		"both":                   {lowest: "loss", highest: "acc", written: []string{"ck/s-loss=1,acc=1", "ck/s-loss=2,acc=3", "ck/s-loss=3,acc=2", "ck/s-loss=4,acc=0", "ck/s-loss=5,acc=0"}, stay: "ck/s-loss=1,acc=1 ck/s-loss=2,acc=3 ck/s-loss=4,acc=0 ck/s-loss=5,acc=0"},
		"best is the newest":     {lowest: "loss", written: []string{"ck/s-loss=3", "ck/s-loss=2", "ck/s-loss=1"}, stay: "ck/s-loss=1 ck/s-loss=2"},
		"in a folder's name":     {lowest: "loss", written: []string{"ck/s-loss=1/w", "ck/s-loss=2/w", "ck/s-loss=3/w", "ck/s-loss=4/w"}, stay: "ck/s-loss=1/w ck/s-loss=3/w ck/s-loss=4/w"},
		"another metric":         {lowest: "loss", written: []string{"ck/s-val_loss=1", "ck/s-val_loss=2", "ck/s-val_loss=3"}, stay: "ck/s-val_loss=1 ck/s-val_loss=2 ck/s-val_loss=3"},
		"some without":           {lowest: "loss", written: []string{"ck/s-1", "ck/s-loss=2", "ck/s-3", "ck/s-4"}, stay: "ck/s-3 ck/s-4 ck/s-loss=2"},
		"newest":                 {written: []string{"ck/s-1", "ck/s-2", "ck/s-3"}, stay: "ck/s-2 ck/s-3"},
		"fewer":                  {written: []string{"ck/s-1"}, stay: "ck/s-1"},
		"none":                   {},
		"by time, not name":      {written: []string{"ck/s-9", "ck/s-10", "ck/s-11"}, stay: "ck/s-10 ck/s-11"},
		"of others":              {before: []string{"ck/s-1", "ck/s-2"}, written: []string{"ck/s-3", "ck/s-4", "ck/s-5"}, stay: "ck/s-1 ck/s-2 ck/s-4 ck/s-5"},
		"of another, written to": {before: []string{"ck/s-1"}, written: []string{"ck/s-1", "ck/s-3", "ck/s-4", "ck/s-5"}, stay: "ck/s-1 ck/s-4 ck/s-5"},
		"outside the pattern":    {written: []string{"ck/log", "ck/s-1", "ck/s-2", "ck/s-3", "far"}, stay: "ck/log ck/s-2 ck/s-3 far"},
		"folders":                {written: []string{"ck/s-1/a", "ck/s-2/a", "ck/s-3/a"}, stay: "ck/s-2/a ck/s-3/a"},
		"a folder of others":     {before: []string{"ck/s-1/a"}, written: []string{"ck/s-1/b", "ck/s-2/a", "ck/s-3/a", "ck/s-4/a"}, stay: "ck/s-1/a ck/s-1/b ck/s-3/a ck/s-4/a"},
		"the best, by a link":    {written: []string{"ck/s-1", "ck/s-2", "ck/s-3", "ck/s-best->s-1"}, stay: "ck/s-1 ck/s-2 ck/s-3 ck/s-best"},
		"best of four":           {written: []string{"ck/s-1", "ck/s-2", "ck/s-3", "ck/s-4", "ck/s-best->s-2"}, stay: "ck/s-2 ck/s-3 ck/s-4 ck/s-best"},
		"links to another's":     {before: []string{"data/x"}, written: []string{"ck/s-1->../data/x", "ck/s-2", "ck/s-3", "ck/s-4"}, stay: "ck/s-1 ck/s-3 ck/s-4 data/x"},
		"an output":              {written: []string{"ck/s-out", "ck/s-1", "ck/s-2", "ck/s-3"}, stay: "ck/s-2 ck/s-3 ck/s-out"},
		"everything below":       {glob: "**", before: []string{"data/x"}, written: []string{"a/1", "a/2", "b/3"}, stay: "a/2 b/3 data/x"},
		"of a failed launch":     {failed: true, written: []string{"ck/s-1", "ck/s-2", "ck/s-3"}, stay: "ck/s-1 ck/s-2 ck/s-3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			putAll(t, dir, 0, c.before)
			if c.glob == "" {
				c.glob = "ck/s-*"
			}
			j := &providers.Job{Token: "0123456789", Address: "phase.a", Workdir: dir, Checkpoint: providers.Checkpoint{Path: c.glob, Glob: true, Keep: 2, KeepLowest: c.lowest, KeepHighest: c.highest},
				Outputs: []providers.Output{{Name: "o", Path: "ck/s-out"}}}
			if err := Resumable(context.Background(), j, offer.Shape{}, 1); err != nil {
				t.Fatal(err)
			}
			putAll(t, dir, 100, c.written)
			if err := Tidy(j, 1, !c.failed); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(files(dir), " "); got != c.stay {
				t.Errorf("%s stay", got)
			}
		})
	}
}

// A later launch, under another token, removes what earlier launches wrote, and not what somebody
// put there, or changed, between them; before it begins only where the newest has passed.
//
// Requirement: STO-08
func TestRetainLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := &providers.Job{Token: "0123456789", Address: "phase.a", Workdir: dir, Checkpoint: providers.Checkpoint{Path: "ck/*", Glob: true, Keep: 1, MinSize: 1}}
	launch := func(n int, want string) {
		t.Helper()
		if err := Resumable(context.Background(), j, offer.Shape{}, n); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(files(dir), " "); got != want {
			t.Fatalf("launch %d begins with %s", n, got)
		}
	}
	launch(1, "")
	putAll(t, dir, 100, []string{"ck/1", "ck/2", "ck/3"})
	os.WriteFile(filepath.Join(dir, "ck/3"), nil, 0o644) // torn
	if err := Tidy(j, 1, false); err != nil {
		t.Fatal(err)
	}
	putAll(t, dir, 50, []string{"ck/mine"})
	before := CheckpointMark(j)
	j.Token = "9876543210"
	launch(2, "ck/2 ck/mine")
	if Moved(j, 2, before) {
		t.Error("a removal is no progress")
	}
	putAll(t, dir, 200, []string{"ck/4", "ck/5"})
	if err := Tidy(j, 2, false); err != nil {
		t.Fatal(err)
	}
	putAll(t, dir, 300, []string{"ck/4"})
	launch(3, "ck/4 ck/5 ck/mine")
	os.RemoveAll(filepath.Join(dir, ".muster/checkpoints")) // nothing is known of it any more
	putAll(t, dir, 400, []string{"ck/6", "ck/7"})
	if err := Tidy(j, 3, true); err != nil || strings.Join(files(dir), " ") != "ck/4 ck/5 ck/6 ck/7 ck/mine" {
		t.Error(err, files(dir))
	}
	j.Checkpoint.Keep = 0
	launch(4, "ck/4 ck/5 ck/6 ck/7 ck/mine")
}

// putAll writes files, each a second younger than the one before.
func putAll(t *testing.T, dir string, age int64, names []string) {
	t.Helper()
	for i, name := range names {
		at, to, link := strings.Cut(name, "->")
		path := filepath.Join(dir, at)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if link {
			err = errors.Join(err, os.Symlink(to, path))
		} else {
			when := time.Unix(1e9+age+int64(i), 0)
			err = errors.Join(err, os.WriteFile(path, []byte(name), 0o644), os.Chtimes(path, when, when))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// files are those below a folder, but for muster's own.
func files(dir string) (names []string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".muster" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names
}
