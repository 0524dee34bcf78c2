package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/ssh"
)

// TestExampleSSHLab plans examples/ssh-lab for a machine with GPUs and without:
// two smokes, twelve jobs there, and one here that waits for their files.
// internal/systemtest applies it over ssh.
func TestExampleSSHLab(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(repository, "examples", "ssh-lab")
	e := exampleOf(t, dir)
	e.muster(0, "validate")
	e.muster(0, "fmt", "-check")
	schemas := map[string]offer.Schema{"local": local.Schema(), "ssh": ssh.Schema()}
	free := offer.Price{Known: true}
	here := offer.Pool{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, Total: 4, Idle: 4, MaxJobs: 4, MaxNodes: 1, MinNodes: 1, Source: "live", Price: free}
	for gpus, lab := range map[string]offer.Pool{
		"0": {CPUs: 8, Total: 8, Idle: 8, MaxJobs: 8},
		"1": {CPUs: 8, Total: 4, Idle: 2, Others: 2, GPUs: 4, GPUModel: "A100", GPUClass: "A100", GPUMem: 40 << 30, MaxJobs: 8},
	} {
		lab.Backend, lab.Word, lab.MaxNodes, lab.MinNodes, lab.Source, lab.Home, lab.Price = "ssh.lab", "machine", 1, 1, "live", "/home/ada", free
		c, diags := lang.Load(lang.LoadOptions{Dir: dir, Vars: []string{"gpus=" + gpus}, Schemas: schemas, Version: "0.1.0"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		in := planner.Input{Campaign: c, Pools: []offer.Pool{here, lab}, Can: map[string]offer.Capabilities{}, Now: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)}
		for name, s := range schemas {
			in.Can[name] = s.Can
		}
		in.Observed = planner.Observed{Refreshed: true, Sources: map[string]planner.SourceDigest{c.Phases[0].Source.Key(): {Digest: "sha256:00", Files: 2}}}
		plan, diags := planner.Make(in)
		if len(diags) > 0 {
			t.Errorf("gpus=%s: %v", gpus, diags)
		}
		estimate, summary := plan.Phases[0], plan.Phases[1]
		if plan.Counts.Run != 13 || estimate.Decision(0).Backend != "ssh.lab" || summary.Decision(0).Backend != "local.local" || estimate.Smoke == nil || len(estimate.Smoke.Run) != 2 {
			t.Errorf("gpus=%s: %+v, %s, %s", gpus, plan.Counts, estimate.Decision(0).Backend, summary.Decision(0).Backend)
		}
		if len(plan.Transfers) != 1 || plan.Transfers[0].Files != 12 {
			t.Errorf("gpus=%s: %+v", gpus, plan.Transfers)
		}
	}
}
