package aris

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/ssh"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load reads a generated campaign as muster would.
func load(t *testing.T, src []byte, vars ...string) *lang.Campaign {
	t.Helper()
	vars = slices.DeleteFunc(vars, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !bytes.Contains(src, []byte("variable \""+name+"\""))
	})
	c, ds := lang.LoadFiles(map[string][]byte{"campaign.muster.hcl": src}, lang.LoadOptions{
		Dir: t.TempDir(), Vars: vars, Schemas: map[string]offer.Schema{"local": local.Schema(), "ssh": ssh.Schema()}, Version: "0.1.0",
	})
	for _, d := range ds {
		t.Errorf("the campaign is told: %s", d)
	}
	if c == nil || ds.HasErrors() {
		t.Fatalf("the campaign does not load:\n%s", src)
	}
	return c
}

func said(ds diag.List) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.Severity.String() + ": " + d.String() + "\n")
	}
	return b.String()
}

// TestExamples converts the published examples, and some beyond them, into
// campaigns that load without a word.
func TestExamples(t *testing.T) {
	// Requirement: GRD-02, GRD-03, GRD-07
	t.Parallel()
	jobs := map[string]int{
		"manifest.yaml": 2, "grid.yaml": 36, "grid_in_manifest.yaml": 36, "phases.yaml": 8, "grid_spec.yaml": 36, "builder.yaml": 26, "built.json": 6,
		"queue_state.json": 6, "edge.yaml": 20, "queue.txt": 4,
	}
	for name, want := range jobs {
		for _, backend := range []string{"", "ssh", "local"} {
			t.Run(name+" "+backend, func(t *testing.T) {
				t.Parallel()
				src, err := os.ReadFile(filepath.Join("testdata", name))
				if err != nil {
					t.Fatal(err)
				}
				out, ds := Convert(name, src, Options{Backend: backend})
				if ds.HasErrors() {
					t.Fatal(said(ds))
				}
				if again, _ := Convert(name, src, Options{Backend: backend}); !bytes.Equal(out, again) {
					t.Error("converting twice gives two campaigns")
				}
				if !bytes.Equal(hclwrite.Format(out), out) {
					t.Error("the campaign is not in the canonical format")
				}
				c := load(t, out, "host=x", "command=x")
				n := 0
				for _, p := range c.Phases {
					n += p.Len()
				}
				if n != want {
					t.Errorf("%d jobs, want %d", n, want)
				}
				if backend == "" {
					golden(t, name+".golden", "# What convert says:\n"+comment(said(ds))+"\n"+string(out))
				}
			})
		}
	}
}

func comment(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("#> " + line)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; go test -update rewrites it):\n%s", name, d)
	}
}
