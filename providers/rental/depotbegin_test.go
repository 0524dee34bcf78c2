package rental

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestDepotBegins: no machine gets a checkpoint of other work for a job that begins from the
// start; the checkpoint stays in the depot, aside.
func TestDepotBegins(t *testing.T) {
	t.Parallel()
	for _, glob := range []bool{false, true} {
		d := depot{dir: t.TempDir(), home: "/root", workdir: "~/work"}
		j := &providers.Job{Token: "0123456789", Workdir: d.there(d.workdir)}
		j.Checkpoint = providers.Checkpoint{Path: "/root/work/ck/a", Glob: glob}
		if glob {
			j.Checkpoint.Path = "/root/work/ck/*"
		}
		for _, name := range []string{"/root/work/ck/a", "/root/work/other"} {
			os.MkdirAll(filepath.Dir(d.here(name)), 0o755)
			if err := os.WriteFile(d.here(name), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		is := func(fresh bool, want ...string) {
			t.Helper()
			j.Checkpoint.Fresh = fresh
			if err := d.begin(j); err != nil {
				t.Fatal(err)
			}
			for _, name := range append(want, "/root/work/other") {
				if _, err := os.Stat(d.here(name)); err != nil {
					t.Error(err)
				}
			}
		}
		is(false, "/root/work/ck/a")
		is(true, "/root/work/.muster/replaced/0123456789/ck/a")
		if found, err := d.list([]string{j.Checkpoint.Path}); err != nil || len(found) > 0 {
			t.Errorf("machines would get %v, %v", found, err)
		}
		is(true, "/root/work/.muster/replaced/0123456789/ck/a") // nothing is there
	}
}

// TestReplacing: a machine moves its copy of a file aside that a person agreed to replace, whatever
// its time and inode there; no other file, and not if the file here has changed since.
func TestReplacing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"out/a", "/root/work/out/a"} {
		d := depot{dir: t.TempDir(), home: "/root", workdir: "~/work"}
		file := d.here("/root/work/out/a")
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		j := &providers.Job{Workdir: "/root/work", Outputs: []providers.Output{{Name: "o", Kind: "path", Path: path}}}
		seen, err := d.verify(t.Context(), providers.VerifyRequest{Workdir: j.Workdir, Outputs: slices.Clone(j.Outputs)})
		if err != nil || len(seen) != 1 || !seen[0].Exists() {
			t.Fatal(seen, err)
		}
		j.Guard = &offer.Guard{Replace: seen}
		there := seen[0]
		there.MTime, there.Inode = there.MTime+1, there.Inode+1
		fate := func(g *offer.Guard, o offer.Output, want offer.Fate) {
			t.Helper()
			if got := g.Fate(o, false); got != want {
				t.Errorf("fate %v, want %v", got, want)
			}
		}
		fate(j.Guard, there, offer.Foreign)
		fate(d.replacing(j), there, offer.Aside)
		other := there
		other.Path = "out/b"
		fate(d.replacing(j), other, offer.Foreign)
		if err := os.WriteFile(file, []byte("somebody's new work"), 0o644); err != nil {
			t.Fatal(err)
		}
		fate(d.replacing(j), there, offer.Foreign)
		if len(j.Guard.Results) > 0 {
			t.Error("the job's own guard changed")
		}
	}
	if d := (depot{}); d.replacing(&providers.Job{}) != nil {
		t.Error("a job without a guard has one")
	}
}
