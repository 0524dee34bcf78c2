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
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// TestFresh: the first launch of a job that begins from the start finds no checkpoint; later
// launches find what the first wrote. Nothing is deleted, and no file beside it moves.
func TestFresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, pattern string
		smoke, again  bool
		files, stay   []string
	}{
		"a file":             {path: "ck", files: []string{"ck", "other"}, stay: []string{"other"}},
		"a folder":           {path: "ck", files: []string{"ck/a", "ck/b/c", "cke/a"}, stay: []string{"cke/a"}},
		"a pattern":          {pattern: "ck/s-*", files: []string{"ck/s-1", "ck/s-2/a", "ck/best"}, stay: []string{"ck/best"}},
		"none":               {path: "ck", files: []string{"out"}, stay: []string{"out"}},
		"a later launch":     {path: "ck", again: true, files: []string{"ck"}, stay: []string{"ck"}},
		"a smoke":            {path: ".muster/smoke/p/k/ck", smoke: true, files: []string{".muster/smoke/p/k/ck", ".muster/smoke/p/j/ck"}, stay: []string{".muster/smoke/p/j/ck"}},
		"a smoke's pattern":  {pattern: ".muster/smoke/p/k/ck/*", smoke: true, files: []string{".muster/smoke/p/k/ck/1", ".muster/smoke/p/j/ck/1"}, stay: []string{".muster/smoke/p/j/ck/1"}},
		"as the job resumes": {path: "ck", files: []string{"ck", "out"}, again: true, stay: []string{"ck", "out"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range c.files {
				path := filepath.Join(dir, f)
				os.MkdirAll(filepath.Dir(path), 0o755)
				if err := os.WriteFile(path, []byte(f), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			j := &providers.Job{Token: "0123456789", Workdir: dir, Smoke: c.smoke, Guard: &offer.Guard{Begun: true}}
			j.Checkpoint = providers.Checkpoint{Path: filepath.Join(dir, c.path+c.pattern), Glob: c.pattern != "", Fresh: true}
			mark := CheckpointMark(j)
			for range 2 { // a queue that was killed in the middle does it again
				if err := Clear(context.Background(), guard.Start{Job: j, First: !c.again}, offer.Shape{}, 1); err != nil {
					t.Fatal(err)
				}
			}
			var stay, aside []string
			filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				rel, _ := filepath.Rel(dir, path)
				switch moved, is := strings.CutPrefix(rel, ".muster/replaced/"+j.Token+"/"); {
				case d.IsDir() || strings.HasPrefix(rel, ".muster/logs/"):
				case is:
					aside = append(aside, moved)
				default:
					stay = append(stay, rel)
				}
				return err
			})
			slices.Sort(c.stay)
			all := slices.Sorted(slices.Values(append(aside, stay...)))
			slices.Sort(c.files)
			if !slices.Equal(stay, c.stay) || !slices.Equal(all, c.files) {
				t.Errorf("stay %q, want %q; aside %q", stay, c.stay, aside)
			}
			if Moved(j, 1, mark) {
				t.Error("the launch has written no checkpoint")
			}
			log, _ := os.ReadFile(LogPath(dir, j.Token, 1, true))
			if says := strings.Count(string(log), "belongs to earlier work"); says != min(len(aside), 1) {
				t.Errorf("the log says %q", log)
			}
			if len(aside) == 0 {
				return
			}
			if err := os.WriteFile(LogPath(dir, j.Token, 1, false), []byte("no such file: x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, shown := Tail(j, 1, wrapper.Mask{}); len(shown) != 1 || shown[0] != "no such file: x" {
				t.Errorf("the last line of the program is hidden: %q", shown)
			}
		})
	}
}
