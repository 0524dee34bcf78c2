package batch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestClean: what muster put into a workdir is taken away when no campaign has
// jobs there, its programs with the last campaign; results stay.
func TestClean(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	result := filepath.Join(k.b.Workdir, "result")
	other := filepath.Join(k.b.Workdir, ".muster", "slurm", "another")
	for _, dir := range []string{result, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.submit("batch0123456789", k.jobs("a", 2, nil)...)
	if _, err := k.s.Clean(t.Context(), k.b.Name); err == nil {
		t.Fatal("it was cleaned up under jobs")
	}
	program := func() []string {
		found, _ := filepath.Glob(filepath.Join(k.b.Workdir, ".muster", "bin", "muster-*"))
		return found
	}
	if len(program()) != 1 {
		t.Fatalf("programs are %q", program())
	}
	c := k.s.backends[k.b.Name].campaign
	for _, j := range c.jobs.byToken {
		j.ended = true
	}
	if _, err := k.s.Clean(t.Context(), k.b.Name); err != nil || len(program()) != 1 {
		t.Fatalf("with another campaign there: programs are %q, %v", program(), err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	installed := program()[0]
	removed, err := k.s.Clean(t.Context(), k.b.Name)
	if err != nil || !slices.Contains(removed, installed) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if _, err := os.Stat(filepath.Join(k.b.Workdir, ".muster")); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
	if _, err := os.Stat(result); err != nil {
		t.Error(err)
	}
	// What is submitted then finds its program again.
	k.submit("batch1", k.jobs("b", 1, nil)...)
	if len(program()) != 1 {
		t.Errorf("programs are %q", program())
	}
}
