package lang

import (
	"testing"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers/offer"
)

// schemas stand in for the providers', with the attributes of the language's
// own examples.
var schemas = map[string]offer.Schema{
	"local": {Type: "local", Config: offer.Block{Attrs: []offer.Attr{{Name: "cpus", Type: offer.Number}, {Name: "gpus", Type: offer.NumberList}}}},
	"ssh": {Type: "ssh", Can: offer.Capabilities{Remote: true, GPUs: true}, Config: offer.Block{Attrs: []offer.Attr{
		{Name: "host", Type: offer.String, Required: true, Doc: "The host."},
		{Name: "gpus", Type: offer.NumberList},
		{Name: "gpu_free_max", Type: offer.Size},
	}}},
	"slurm": {Type: "slurm", Can: offer.Capabilities{Remote: true, GPUs: true, Arrays: true}, Profiles: map[string][]byte{"cu-alpine": nil, "wide": nil},
		Config: offer.Block{
			Attrs:  []offer.Attr{{Name: "account", Type: offer.String}, {Name: "poll", Type: offer.Duration}},
			Blocks: []offer.NestedBlock{{Name: "ssh", Block: offer.Block{Attrs: []offer.Attr{{Name: "host", Type: offer.String, Required: true, Doc: "The login node."}}}}},
		},
		Options: offer.Block{Attrs: []offer.Attr{{Name: "qos", Type: offer.String, OneOf: []string{"normal", "long"}}, {Name: "partition", Type: offer.String}, {Name: "nodes", Type: offer.Number}}},
	},
}

// load loads one file from memory.
func load(t *testing.T, src string, more ...func(*LoadOptions)) (*Campaign, diag.List) {
	t.Helper()
	o := LoadOptions{Dir: t.TempDir(), Schemas: schemas, Version: "0.1.0", SensitiveKey: []byte("key")}
	for _, f := range more {
		f(&o)
	}
	return LoadFiles(map[string][]byte{"a.muster.hcl": []byte(src)}, o)
}

// mustLoad is load of a campaign without errors.
func mustLoad(t *testing.T, src string, more ...func(*LoadOptions)) *Campaign {
	t.Helper()
	c, ds := load(t, src, more...)
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThinnest(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
phase "hello" {
  job {
    command = "echo hi > ${output.greeting}"
    output "greeting" { path = "out/hi.txt" }
  }
}`)
	r, ds := c.Phases[0].Render(0, Target{Workdir: "/w"})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if want := "echo hi > /w/out/hi.txt"; r.Shell != want {
		t.Errorf("command %q, want %q", r.Shell, want)
	}
}

func TestPaperLoads(t *testing.T) {
	t.Parallel()
	c, ds := Load(LoadOptions{Dir: "../examples/distill-paper", Vars: []string{"account=ucb1"}, Schemas: schemas, Version: "0.1.0"})
	if len(ds) > 0 {
		t.Fatalf("%s", ds)
	}
	if len(c.Phases) != 3 || c.Phases[2].Name != "figure" || c.Phases[1].Len() != 24 {
		t.Errorf("phases %v", c.Phases)
	}
}
