package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
)

// TestDiscard: what a job declares as of no use goes when it is done, and nothing else: not
// what it made or read, not muster's own files, and nothing outside its workdir.
func TestDiscard(t *testing.T) {
	// Requirement: STO-09
	t.Parallel()
	for name, c := range map[string]struct {
		discard []string
		failed  bool
		smoke   bool
		gone    string // of the files there
		said    string
	}{
		"a folder":                  {discard: []string{"run/tmp"}, gone: "run/tmp/a run/tmp/deep/b", said: "2 files removed from run/tmp"},
		"a pattern":                 {discard: []string{"run/*.tmp", "run/none*"}, gone: "run/x.tmp", said: "1 file removed from run/*.tmp"},
		"folders of a pattern":      {discard: []string{"run/t*"}, gone: "run/tmp/a run/tmp/deep/b"},
		"all but what it made":      {discard: []string{"run/**"}, gone: "run/tmp/a run/tmp/deep/b run/x.tmp"},
		"the folder of its outputs": {discard: []string{"run"}, gone: "run/tmp/a run/tmp/deep/b run/x.tmp"},
		"by another name":           {discard: []string{"alias/**"}, gone: "run/tmp/a run/tmp/deep/b run/x.tmp"},
		"a link":                    {discard: []string{"out*"}, gone: "outside"},
		"through a link":            {discard: []string{"outside/*"}},
		"out of the workdir":        {discard: []string{"../other/*"}},
		"what it read":              {discard: []string{"in/*", "run/data"}},
		"muster's own":              {discard: []string{".muster/**", "muster.*"}},
		"of a failed job":           {discard: []string{"run/tmp"}, failed: true},
		"of a smoke":                {discard: []string{"run/tmp"}, smoke: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := filepath.Join(top, "work")
			all := "in/data .muster/record run/final run/parts/1 run/tmp/a run/tmp/deep/b run/x.tmp ../other/file"
			for _, f := range strings.Fields(all) {
				f = filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for from, to := range map[string]string{"alias": "run", "outside": "../other", "run/data": "../in/data", "muster.state.json": "../other/file"} {
				if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
					t.Fatal(err)
				}
			}
			j := &providers.Job{Token: "token", Workdir: dir, Discard: c.discard, Smoke: c.smoke,
				Outputs: []providers.Output{{Name: "final", Path: "run/final"}, {Name: "parts", Kind: "glob", Path: "run/parts/*"}},
				Inputs:  []providers.Input{{Name: "data", Paths: []string{filepath.Join(dir, "run/data")}}}}
			_ = Tidy(j, 1, !c.failed) // a path that leads out of the workdir is an error
			var gone []string
			for _, f := range append(strings.Fields(all), "alias", "outside", "run/data", "muster.state.json") {
				if _, err := os.Lstat(filepath.Join(dir, f)); err != nil {
					gone = append(gone, f)
				}
			}
			if got := strings.Join(gone, " "); got != c.gone {
				t.Errorf("gone is %q, not %q", got, c.gone)
			}
			log, _ := os.ReadFile(LogPath(dir, "token", 1, true))
			if !strings.Contains(string(log), c.said) || (c.gone == "") != (len(log) == 0) {
				t.Errorf("the log says %q, not %q", log, c.said)
			}
			if _, err := os.Stat(filepath.Join(dir, "run/tmp")); err == nil && strings.Contains(c.gone, "run/tmp/a") {
				t.Error("an empty folder is left")
			}
		})
	}
}
