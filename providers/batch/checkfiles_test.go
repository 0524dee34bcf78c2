package batch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
)

// TestImagesAreLookedFor where sbatch runs: whether a file is there is known
// beforehand; what a registry has is not, and is said to be so.
func TestImagesAreLookedFor(t *testing.T) {
	k := newBench(t)
	workdir := t.TempDir()
	if err := os.WriteFile(filepath.Join(workdir, "there.sif"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]providers.Finding{
		"":                    {},
		"there.sif":           {},
		"gone.sif":            {Summary: "A container image is not there"},
		"pytorch/pytorch:2.4": {Warning: true, Summary: "An image comes from a registry"},
	} {
		found, err := k.s.Preflight(t.Context(), k.b.Name, []providers.Check{{Workdir: workdir, Image: image}})
		if err != nil {
			t.Fatal(err)
		}
		var got providers.Finding
		for _, f := range found {
			if f.Check == 0 {
				got = providers.Finding{Warning: f.Warning, Summary: f.Summary}
			}
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", image, got, want)
		}
	}
}

// TestSystemVolumesAreLookedAt on the login node: a workdir without room for what jobs
// need is an error, one that is full lets launches wait, and an apply that looks
// again for room runs none of Slurm's commands.
func TestSystemVolumesAreLookedAt(t *testing.T) {
	k := newBench(t)
	full := t.TempDir()
	if err := unix.Mount("muster-test", full, "tmpfs", 0, "size=1m"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(full, unix.MNT_DETACH) })
	look := func(checks ...providers.Check) (out []providers.Finding) {
		t.Helper()
		found, err := k.s.Preflight(t.Context(), k.b.Name, checks)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Check == 0 {
				out = append(out, f)
			}
		}
		return out
	}
	if found := look(providers.Check{Workdir: full}); len(found) != 0 {
		t.Errorf("nothing is on it: %+v", found)
	}
	if found := look(providers.Check{Addresses: []string{"phase.a"}, Workdir: full, Disk: 2 << 20}); len(found) != 1 || found[0].Warning || found[0].Summary != "There is no room for results" {
		t.Errorf("more is needed than there is: %+v", found)
	}
	if found := look(providers.Check{Addresses: []string{"phase.a"}, Workdir: full, Keep: 2 << 20}); len(found) != 1 || !found[0].Warning || found[0].Pauses {
		t.Errorf("more may be needed than there is: %+v", found)
	}
	if err := os.WriteFile(filepath.Join(full, "all"), make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("2 MiB fit into 1")
	}
	k.restart() // what it knows of the cluster is forgotten
	before := len(k.f.calls)
	if found := look(providers.Check{Workdir: full}); len(found) != 1 || !found[0].Warning || !found[0].Pauses {
		t.Errorf("it is full: %+v", found)
	}
	if more := k.f.calls[before:]; len(more) > 0 {
		t.Errorf("to look at a volume it ran %v", more)
	}
}
