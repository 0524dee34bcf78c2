package attempt

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A shelf is a place in memory.
type shelf map[string][]byte

func (s shelf) List(context.Context) ([]string, error) { return slices.Collect(maps.Keys(s)), nil }
func (s shelf) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	err := fill(&b)
	if err == nil {
		s[name] = b.Bytes()
	}
	return err
}
func (s shelf) Read(_ context.Context, name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s[name])), nil
}
func (s shelf) Remove(_ context.Context, name string) error {
	delete(s, name)
	return nil
}
func (shelf) Close() error { return nil }

// step writes a file of a checkpoint with a time of its own.
func step(t *testing.T, path, text string, minute int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 26, 10, minute, 0, 0, time.UTC)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// tars are the names of the copies, the oldest first.
func (s shelf) tars() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(name string) bool { return filepath.Ext(name) != ".tar" })
}

// TestCopies: what was copied away comes back on another machine, the newest whole one, and not
// over a newer one.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checkpoint  providers.Checkpoint
		file, other string // of two checkpoints, the second newer
	}{
		"a file":    {providers.Checkpoint{Path: "ck/latest.pt"}, "ck/latest.pt", "ck/latest.pt"},
		"a folder":  {providers.Checkpoint{Path: "ck"}, "ck/a/model.pt", "ck/a/model.pt"},
		"a pattern": {providers.Checkpoint{Path: "ck/step-*", Glob: true}, "ck/step-1/model.pt", "ck/step-2/model.pt"},
		"checked":   {providers.Checkpoint{Path: "ck/latest.pt", MinSize: 3}, "ck/latest.pt", "ck/latest.pt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &providers.Job{Token: "ab12", Address: "phase.a", Phase: "a", Workdir: t.TempDir(), ResultHash: "h", Checkpoint: c.checkpoint}
			j.Checkpoint.CopyTo = "ssh://a@b/c"
			place := shelf{"README": []byte("of somebody else")}
			out := func() {
				t.Helper()
				if err := CopyOut(t.Context(), place, j); err != nil {
					t.Fatal(err)
				}
			}
			in := func(file, want string) {
				t.Helper()
				j.Token += "0"
				if err := CopyIn(t.Context(), place, j, offer.Shape{}, 1); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(filepath.Join(j.Workdir, file))
				if string(text) != want || want != "" && err != nil {
					t.Errorf("%s is %q, %v; want %q", file, text, err, want)
				}
				if left, _ := filepath.Glob(filepath.Join(j.Workdir, "*", ".muster-incoming-*")); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			}
			in(c.file, "") // there is none yet
			out()
			step(t, filepath.Join(j.Workdir, c.file), "first", 1)
			out()
			out() // the same once more
			step(t, filepath.Join(j.Workdir, c.other), "second", 2)
			out()
			step(t, filepath.Join(j.Workdir, c.other), "third", 3)
			out()
			if len(place) != 3 {
				t.Errorf("%d files there: %q", len(place), slices.Sorted(maps.Keys(place)))
			}
			in(c.other, "third")
			there := j.Workdir
			j.Workdir = t.TempDir() // another machine
			in(c.other, "third")
			if notes := Notes(j, 1); len(notes) != 1 || !strings.Contains(notes[0], "was copied back from ssh://a@b/c") {
				t.Errorf("notes %q", notes)
			}
			if Moved(j, 1, 1) {
				t.Error("the copy counts as the launch's own progress")
			}
			fi, err := os.Stat(filepath.Join(j.Workdir, c.other))
			if err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().Minute() != 3 {
				t.Errorf("it is %v, %v", fi, err)
			}
			step(t, filepath.Join(j.Workdir, c.other), "newer", 9)
			in(c.other, "newer")

			newest := place.tars()[1]
			place[newest] = place[newest][:700]
			j.Workdir = t.TempDir()
			in(c.other, "second")
			oldest := place.tars()[0]
			place[oldest] = bytes.Replace(place[oldest], []byte("second"), []byte("Second"), 1)
			j.Workdir = t.TempDir()
			in(c.other, "")
			j.Workdir = there
			in(c.other, "third")

			// A job that begins from the start resumes from none of them, on no machine.
			for range 2 {
				if err := Outdate(t.Context(), place); err != nil {
					t.Fatal(err)
				}
			}
			place[copyName(time.Now().Add(-time.Minute).UnixNano())] = place[place.tars()[0]] // of the run before, late
			j.Workdir = t.TempDir()
			in(c.other, "")
			step(t, filepath.Join(j.Workdir, c.other), "again", 4)
			if err := os.Chtimes(filepath.Join(j.Workdir, c.other), time.Time{}, time.Now()); err != nil {
				t.Fatal(err)
			}
			out()
			if len(place) != 3 { // with the note of when it began
				t.Errorf("%d files there: %q", len(place), slices.Sorted(maps.Keys(place)))
			}
			j.Workdir = t.TempDir()
			in(c.other, "again")
		})
	}
}

// TestCopiesThatFailTheirChecks are passed over.
func TestCopiesThatFailTheirChecks(t *testing.T) {
	t.Parallel()
	j := &providers.Job{Token: "ab12", Address: "phase.a", Phase: "a", Workdir: t.TempDir(), Checkpoint: providers.Checkpoint{Path: "ck", CopyTo: "s3://b", MinSize: 5}}
	place := shelf{}
	for i, text := range []string{"whole", "torn"} {
		step(t, filepath.Join(j.Workdir, "ck"), text, i)
		if err := CopyOut(t.Context(), place, j); err != nil {
			t.Fatal(err)
		}
	}
	j.Workdir = t.TempDir()
	if err := CopyIn(t.Context(), place, j, offer.Shape{}, 1); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(j.Workdir, "ck")); err != nil || string(text) != "whole" {
		t.Errorf("it resumes from %q, %v", text, err)
	}
	if notes := Notes(j, 1); len(notes) != 2 || !strings.Contains(notes[0], "is not whole") {
		t.Errorf("notes %q", notes)
	}
}

// TestACheckpointThatChanges while it is copied leaves no copy; one that another replaces does.
func TestACheckpointThatChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file   string
		change func(t *testing.T, ck string)
		whole  bool
	}{
		"written in place": {"ck", func(t *testing.T, ck string) { step(t, ck, "second", 2) }, false},
		"replaced": {"ck", func(t *testing.T, ck string) {
			step(t, ck+".new", "second", 2)
			if err := os.Rename(ck+".new", ck); err != nil {
				t.Fatal(err)
			}
		}, true},
		"a folder's file written":  {"ck/a", func(t *testing.T, ck string) { step(t, ck+"/a", "second", 2) }, false},
		"a folder's file replaced": {"ck/a", func(t *testing.T, ck string) { step(t, ck+"/n", "s", 2); os.Rename(ck+"/n", ck+"/a") }, false},
		"a folder's file removed":  {"ck/a", func(t *testing.T, ck string) { os.Remove(ck + "/a") }, false},
		"a folder grows":           {"ck/a", func(t *testing.T, ck string) { step(t, ck+"/b", "second", 1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &providers.Job{Token: "ab12", Workdir: t.TempDir(), Checkpoint: providers.Checkpoint{Path: "ck"}}
			step(t, filepath.Join(j.Workdir, c.file), "first", 1)
			place := changing{shelf{}, func() { c.change(t, filepath.Join(j.Workdir, "ck")) }}
			err := CopyOut(t.Context(), place, j)
			if c.whole {
				if err != nil || len(place.shelf) != 1 || !bytes.Contains(place.shelf[copyName(time.Date(2026, 11, 26, 10, 1, 0, 0, time.UTC).UnixNano())], []byte("first")) {
					t.Errorf("%v, and there is %q", err, slices.Collect(maps.Keys(place.shelf)))
				}
			} else if err == nil || !strings.Contains(err.Error(), "changed while it was copied") || len(place.shelf) > 0 {
				t.Errorf("%v, and there is %q", err, slices.Collect(maps.Keys(place.shelf)))
			}
		})
	}
}

type changing struct {
	shelf
	change func()
}

func (c changing) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	return c.shelf.Write(ctx, name, func(w io.Writer) error {
		c.change()
		return fill(w)
	})
}

// TestOffsiteFolder: a job that was changed, or another one, has other copies.
func TestOffsiteFolder(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, j := range []providers.Job{{Phase: "a", Address: "phase.a", ResultHash: "1"}, {Phase: "a", Address: "phase.a", ResultHash: "2"}, {Phase: "a", Address: "phase.b", ResultHash: "1"}} {
		name := OffsiteFolder("lineage", &j)
		if seen[name] || !strings.HasPrefix(name, "muster-lineage/a-") {
			t.Errorf("%s", name)
		}
		seen[name] = true
	}
}
