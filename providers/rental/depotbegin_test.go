package rental

import (
	"os"
	"path/filepath"
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
// its time and inode there, and no other file.
func TestReplacing(t *testing.T) {
	t.Parallel()
	here := offer.Output{Name: "o", Path: "out/a", Size: 4, MTime: 1, Inode: 1}
	there := here
	there.MTime, there.Inode = 2, 2
	g := &offer.Guard{Replace: []offer.Output{here}}
	if fate := g.Fate(there, false); fate != offer.Foreign {
		t.Fatalf("fate %v without", fate)
	}
	if fate := replacing(g).Fate(there, false); fate != offer.Aside {
		t.Errorf("fate %v", fate)
	}
	there.Path = "out/b"
	if fate := replacing(g).Fate(there, false); fate != offer.Foreign {
		t.Errorf("another file: fate %v", fate)
	}
	if replacing(nil) != nil || len(g.Results) > 0 {
		t.Error("the guard itself changed")
	}
}
