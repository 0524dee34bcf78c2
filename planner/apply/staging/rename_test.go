package staging_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func TestRenameIsNeverOverAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(at(name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := staging.Rename(at("a"), at("b")); err == nil {
		t.Error("over another")
	}
	if err := staging.Rename(at("a"), at("b/c")); err == nil {
		t.Error("below a file")
	}
	if err := staging.Rename(at("a"), at("new/folder/a")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"new/folder/a": "a", "b": "b"} {
		if got, err := os.ReadFile(at(name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if err := staging.Rename(at("gone"), at("x")); !os.IsNotExist(err) {
		t.Errorf("what is not there: %v", err)
	}
}

// Files follow the paths that are declared, but for globs, those elsewhere, and
// those whose new place is taken.
func TestFollow(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
phase "a" {
  job {
    command = ["true"]
    output "moved" { path = "new/moved" }
    output "same" { path = "same" }
    output "taken" { path = "taken" }
    output "away" { path = "new/away" }
    output "many" { glob = "new/*.txt" }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	dir := t.TempDir()
	var outputs []state.Output
	for _, name := range []string{"moved", "same", "taken", "away", "many", "undeclared"} {
		o := state.Output{Name: name, Path: "old-" + name, Workdir: dir, Backend: "local.local"}
		switch name {
		case "same":
			o.Path = name
		case "away":
			o.Backend = "ssh.lab"
		case "taken":
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, o.Path), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, o)
	}
	got := staging.Follow(c.Phases[0], 0, outputs, func(backend string) bool { return backend == "local.local" })
	if len(got) != 1 || got[0].Name != "moved" || got[0].Path != "new/moved" {
		t.Fatalf("renamed %+v", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "new/moved")); err != nil || string(b) != "moved" {
		t.Errorf("it holds %q, %v", b, err)
	}
	for _, o := range outputs[1:] {
		if b, err := os.ReadFile(filepath.Join(dir, o.Path)); err != nil || string(b) != o.Name {
			t.Errorf("%s was touched: %q, %v", o.Path, b, err)
		}
	}
}
