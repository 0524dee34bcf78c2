package login

import (
	"os"
	"path/filepath"
	"testing"

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
