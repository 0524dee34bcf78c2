package attempt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// What the launch before left at the output paths is moved to a folder of that launch, and nothing
// else is.
//
// Requirement: FAIL-08, STO-15
func TestKeepApart(t *testing.T) {
	t.Parallel()
	const to = ".muster/failed/old.1/"
	file, folder, glob := providers.Output{Name: "o", Path: "out/a"}, providers.Output{Name: "o", Kind: "dir", Path: "out"}, providers.Output{Name: "o", Kind: "glob", Path: "**/a"}
	for name, c := range map[string]struct {
		out    providers.Output
		there  []string
		change func(l *guard.Start)
		want   []string // all files after; nil = as before
	}{
		"a file":                      {out: file, there: []string{"out/a", "out/b"}, want: []string{to + "out/a", "out/b"}},
		"a folder":                    {out: folder, there: []string{"out/a", "out/d/b", "x"}, want: []string{to + "out/a", to + "out/d/b", "x"}},
		"a pattern":                   {out: glob, there: []string{"out/a", "out/b", ".muster/failed/older.1/out/a"}, want: []string{".muster/failed/older.1/out/a", to + "out/a", "out/b"}},
		"nothing":                     {out: file, there: []string{"x"}},
		"there already":               {out: file, there: []string{"out/a", to + "out/a"}, want: []string{to + "out/a", to + "out/a.1"}},
		"nobody saw the end":          {out: file, there: []string{"out/a"}, change: func(l *guard.Start) { l.Left = nil }, want: []string{to + "out/a"}},
		"a pattern, nobody saw":       {out: glob, there: []string{"out/a"}, change: func(l *guard.Start) { l.Left = nil }},
		"shared":                      {out: providers.Output{Name: "o", Path: "out/a", Shared: true}, there: []string{"out/a"}},
		"no launch before":            {out: file, there: []string{"out/a"}, change: func(l *guard.Start) { l.Before = "" }},
		"a smoke":                     {out: file, there: []string{"out/a"}, change: func(l *guard.Start) { l.Job.Smoke = true }},
		"resumes from a checkpoint":   {out: file, there: []string{"out/a", "ck"}, change: checkpointed},
		"a checkpoint, not yet there": {out: file, there: []string{"out/a"}, change: checkpointed, want: []string{to + "out/a"}},
		"a torn checkpoint":           {out: file, there: []string{"out/a", "ck"}, change: func(l *guard.Start) { checkpointed(l); l.Job.Checkpoint.MinSize = 1 << 20 }, want: []string{to + "out/a", ".muster/replaced/new/ck"}},
		"an input in its folder":      {out: folder, there: []string{"out/a", "out/in"}, change: func(l *guard.Start) { l.Job.Inputs = []providers.Input{{Paths: []string{"out/in"}}} }},
		"the workdir":                 {out: providers.Output{Name: "o", Kind: "dir", Path: "."}, there: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			putAll(t, dir, 0, c.there)
			j := &providers.Job{Token: "new", Workdir: dir, Dir: dir, Outputs: []providers.Output{c.out}, Guard: &offer.Guard{}}
			l := guard.Start{Job: j, Left: guard.Left(j), Before: "old.1"}
			if c.change != nil {
				c.change(&l)
			}
			for range 2 { // a queue that was killed repeats it
				if err := Clear(context.Background(), l, offer.Shape{}, 2); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if want == nil {
				want = c.there
			}
			var got []string
			err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				name := strings.TrimPrefix(path, dir+"/")
				if err == nil && !d.IsDir() && !strings.HasPrefix(name, ".muster/logs/") && !strings.HasPrefix(name, ".muster/checkpoints/") {
					got = append(got, name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%q, not %q", got, want)
			}
			moved := slices.ContainsFunc(Notes(j, 2), func(n string) bool { return strings.HasSuffix(n, "moved to .muster/failed/old.1") })
			if should := slices.ContainsFunc(c.want, func(f string) bool { return strings.HasPrefix(f, to) }); moved != should {
				t.Errorf("its notes are %q", Notes(j, 2))
			}
		})
	}
}

func checkpointed(l *guard.Start) { l.Job.Checkpoint.Path = "ck" }

// A launch that was killed between two moves continues with the second.
//
// Requirement: STO-15
func TestKeepApartContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putAll(t, dir, 0, []string{"a", "b"})
	j := &providers.Job{Token: "new", Workdir: dir, Dir: dir, Outputs: []providers.Output{{Name: "a", Path: "a"}, {Name: "b", Path: "b"}}, Guard: &offer.Guard{}}
	l := guard.Start{Job: j, Left: guard.Left(j), Before: "old.1"}
	to := filepath.Join(dir, ".muster/failed/old.1")
	if err := guard.Move(dir, to, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := Clear(context.Background(), l, offer.Shape{}, 2); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
}
