package preview

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestCut: it is said how many arrays there are.
func TestCut(t *testing.T) {
	t.Parallel()
	for says, sizes := range map[string][]int{
		", 3 arrays like this one: 50 jobs each, the last 20": {50, 50, 20},
		"": {50},
	} {
		if got := cut(providers.Script{Sizes: sizes}); got != says {
			t.Errorf("%d: %q", sizes, got)
		}
	}
}

// TestShownAsBuilt: what a job says of its own is in the script that is shown, as it
// is in the one that is submitted: its setup takes a login shell, and its retries a
// requeue.
func TestShownAsBuilt(t *testing.T) {
	t.Parallel()
	c := campaign(t, `campaign "c" {}
phase "p" {
  retry {
    on           = ["oom"]
    max_attempts = 3
  }
  job {
    command = "true"
    setup   = "module load cuda"
    resources {
      cpus     = 4
      walltime = "2h"
    }
  }
}
`)
	c.Backends = []*lang.Backend{{Type: "slurm", Name: "x", Workdir: "/work"}}
	pp := &planner.PhasePlan{Phase: c.Phases[0], Kind: []planner.Kind{planner.Run}, Placements: []place.Decision{{}, {Backend: "slurm.x", Pool: "p", Shape: c.Phases[0].Requests(lang.Run)[0].Shape}}, Place: []uint16{1}}
	v := Preview{Campaign: c, Plan: &planner.Plan{Phases: []*planner.PhasePlan{pp}}, Scripters: plugins.Scripters(c.Backends), Pools: []offer.Pool{{Backend: "slurm.x", Name: "p"}}}
	text, diags, err := v.Scripts()
	if err != nil || diags.HasErrors() {
		t.Fatal(err, diags)
	}
	for _, want := range []string{"#!/bin/bash -l\n", "with the setup before it", "#SBATCH --cpus-per-task=4\n", "#SBATCH --time=0-02:00:00\n", "#SBATCH --requeue\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestShapes: of many like jobs the first and the last command is shown, their
// differences, and how they would be submitted; whole asks for all of them.
func TestShapes(t *testing.T) {
	t.Parallel()
	c := campaign(t, `campaign "c" {}
backend "local" "local" {}
phase "a" {
  grid { axes = { i = range(0, 5000) } }
  job {
    command = "work ${cell.i} > ${output.r}"
    output "r" { path = "a${cell.i}" }
  }
}
phase "b" {
  grid { axes = { i = range(0, 5000) } }
  job {
    command = "cat ${input.x} > ${output.r}"
    input "x" { from = phase.a.output.r }
    output "r" { path = "b${cell.i}" }
  }
}
`)
	c.Backends = append(c.Backends, &lang.Backend{Type: "slurm", Name: "x", Workdir: "/work"})
	plan := &planner.Plan{}
	for _, p := range c.Phases {
		pp := &planner.PhasePlan{Phase: p, Kind: make([]planner.Kind, p.Len()), Place: make([]uint16, p.Len()), Placements: []place.Decision{{}, {Backend: "slurm.x", Pool: "p"}}}
		for i := range pp.Kind {
			pp.Kind[i], pp.Place[i] = planner.Run, 1
		}
		plan.Phases = append(plan.Phases, pp)
	}
	v := Preview{Campaign: c, Plan: plan, Scripters: plugins.Scripters(c.Backends), Pools: []offer.Pool{{Backend: "slurm.x", Name: "p"}}}
	text := func() string {
		t.Helper()
		text, diags, err := v.Scripts()
		if err != nil || diags.HasErrors() {
			t.Fatal(err, diags)
		}
		return text
	}
	got := text()
	for _, want := range []string{"work 0 > /work/a0\n", "work 4999 > /work/a4999\n", "4,998 jobs between these two", "i  0, 1, 2, 3, … 4999 (5,000 values)",
		"sbatch --parsable --hold '--comment=held by muster until all of its campaign is in' script.sh", "while those have not ended: #SBATCH --dependency=aftercorr:ID-OF-a\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 200 || strings.Contains(got, "work 2 >") || strings.Contains(got, "\n#SBATCH --dependency") {
		t.Errorf("%d lines:\n%s", lines, got)
	}
	v.Whole = func(address string) bool { return strings.HasPrefix(address, `phase.b["i=7`) }
	if got = text(); strings.Count(got, "# phase.b[") != 111 || strings.Contains(got, "phase.a[") {
		t.Errorf("whole: %d of b, %d of a", strings.Count(got, "# phase.b["), strings.Count(got, "phase.a["))
	}
	// What is done is submitted no more, and nothing comes after it.
	v.Whole = nil
	for i := range plan.Phases[0].Kind {
		plan.Phases[0].Kind[i] = planner.None
	}
	if got = text(); strings.Contains(got, "dependency") || strings.Contains(got, "--hold") {
		t.Errorf("with what it reads done:\n%s", got)
	}
}
