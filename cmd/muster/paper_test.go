package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/checklist"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/providers/batch/delivery"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
	"github.com/muster-run/muster/providers/ssh"
)

// The campaign of the design, planned without a network: examples/distill-paper.

var updatePaper = flag.Bool("update-paper", false, "write the plan of examples/distill-paper again")

const paperDir = "../../examples/distill-paper"

// A paperWorld has the answers that muster would have had by asking: the form
// of testdata/world.json.
type paperWorld struct {
	Now      time.Time
	Account  string
	Secrets  map[string]string
	Source   planner.SourceDigest
	Profiles []struct{ Backend, Profile string }
	Live     []struct {
		Backend, Pool, Wait string
		Idle                int
	}
	Machines []struct {
		Backend, Memory, GPU string
		GPUMemory            string `json:"gpu_memory"`
		CPUs, GPUs           int
		Idle, Others         int
	}
}

func loadPaperWorld(t *testing.T) paperWorld {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(paperDir, "testdata", "world.json"))
	if err != nil {
		t.Fatal(err)
	}
	var w paperWorld
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	return w
}

// pools are the profile's partitions with the live answers, and the machines.
func (w paperWorld) pools(t *testing.T) []offer.Pool {
	t.Helper()
	var out []offer.Pool
	for _, p := range w.Profiles {
		profile, err := slurm.Profiles.Load(p.Profile, p.Backend)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, profile.Pools...)
	}
	for _, l := range w.Live {
		for i := range out {
			if out[i].Backend == l.Backend && out[i].Name == l.Pool {
				out[i].Idle, out[i].Wait = l.Idle, must(t, units.ParseDuration, l.Wait)
			}
		}
	}
	for _, m := range w.Machines {
		p := offer.Pool{Backend: m.Backend, Kind: offer.MachinePool, Word: "machine", CPUs: m.CPUs, Memory: must(t, units.ParseSize, m.Memory), MaxNodes: 1, MinNodes: 1,
			Idle: m.Idle, Total: m.CPUs, Others: m.Others, Source: "live", Price: offer.Price{Known: true}}
		if m.GPUs > 0 {
			p.GPUs, p.Total, p.GPUModel, p.GPUClass, p.GPUMem = m.GPUs, m.GPUs, m.GPU, m.GPU, must(t, units.ParseSize, m.GPUMemory)
		}
		out = append(out, p)
	}
	return out
}

func must[T any](t *testing.T, parse func(string) (T, error), s string) T {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// input is the input of a plan of the paper.
func (w paperWorld) input(t *testing.T) (planner.Input, diag.List) {
	t.Helper()
	schemas := map[string]offer.Schema{"local": local.Schema(), "ssh": ssh.Schema(), "slurm": delivery.Schema(slurm.Type{})}
	c, diags := lang.Load(lang.LoadOptions{Dir: paperDir, Vars: []string{"account=" + w.Account}, Schemas: schemas, Version: "0.1.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := planner.Input{Campaign: c, Pools: w.pools(t), Can: map[string]offer.Capabilities{}, Now: w.Now}
	in.Observed = planner.Observed{Refreshed: true, Sources: map[string]planner.SourceDigest{}, Secrets: map[string]string{}}
	for name, s := range schemas {
		in.Can[name] = s.Can
	}
	for _, p := range c.Phases {
		if p.Source != nil {
			in.Observed.Sources[p.Source.Key()] = w.Source
		}
		for _, s := range p.Secrets {
			if w.Secrets[s.Env] == "" {
				in.Observed.Secrets[s.Name] = "variable " + s.Env + " is not set"
			}
		}
	}
	return in, diags
}

func planPaper(t *testing.T) *planner.Plan {
	t.Helper()
	in, diags := loadPaperWorld(t).input(t)
	p, more := planner.Make(in)
	for _, d := range append(diags, more...) {
		t.Errorf("%s: %s", d.Severity, d)
	}
	return p
}

// TestPaperChecklist: below the scripts of the phase that goes to Slurm are ten points, from
// the plan.
func TestPaperChecklist(t *testing.T) {
	// Requirement: SUB-19
	t.Parallel()
	in, _ := loadPaperWorld(t).input(t)
	p, _ := planner.Make(in)
	var b bytes.Buffer
	if err := (view.Human{Style: term.Style{UTF8: true, Width: term.MaxWidth}}).Checklists(&b, checklist.Of(p, in, "/home/me/dllm", map[string]checklist.Scheduler{"slurm": slurm.Type{}})); err != nil {
		t.Fatal(err)
	}
	golden(t, "checklist.golden", b.String())
}

// TestPaperScreen holds that the campaign of the reference plans to the screen
// of the documentation, figures included.
func TestPaperScreen(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := (view.Human{Style: term.Style{UTF8: true, Width: term.MaxWidth}}).Print(&b, planPaper(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.golden", b.String())
}

// golden compares what is shown with a file beside the campaign.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(paperDir, "testdata", name)
	if *updatePaper {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("the screen changed; if that is meant, run with -update-paper and correct the documentation\n%s", d)
	}
}
