package explain

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const campaign = `campaign "test" {}
phase "a" {
  grid { axes = { seed = [1, 2] } }
  params = { lr = "1" }
  smoke { params = { lr = "0" } }
  job {
    command = "train ${cell.seed} ${param.lr} ${output.out}"
    output "out" { path = "out/a_${cell.seed}.txt" }
  }
}
phase "b" {
  grid { axes = { seed = [1, 2] } }
  job {
    input "x" { from = phase.a.output.out }
    command = "read ${input.x} ${output.out}"
    output "out" { path = "out/b_${cell.seed}.txt" }
  }
}
`

func TestOf(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte(campaign)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := planner.Input{Campaign: c, Now: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC),
		Pools: []offer.Pool{{Backend: "local.local", CPUs: 4, Idle: 4, Total: 4, Price: offer.Price{Known: true}}}}
	first, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in.State = &state.State{Lineage: "l", Jobs: map[string]*state.Job{}, Definitions: map[string]json.RawMessage{}}
	for _, pp := range first.Phases { // the jobs of seed 1 are done
		address := pp.Phase.Address(0)
		in.State.Jobs[address] = &state.Job{Address: address, Phase: pp.Phase.Name, Axes: state.TextsOf(pp.Phase.Axes(0)), Scheme: planner.Scheme, Status: state.Completed,
			Result: pp.Result[0].String(), Inputs: state.TextsOf(first.InputHashes(pp, 0)), Attempts: []state.Attempt{{N: 1, Token: "t-" + address, Backend: "local.local"}}}
	}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x, err := Of(p, in, "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if x.Kind != planner.Run || !x.Goes || len(x.Waits) != 1 || x.Waits[0].Open != 1 || x.Waits[0].Address != `phase.a["seed=2"]` || len(x.Decision.Candidates) == 0 {
		t.Errorf("got %+v", x)
	}
	if x, _ = Of(p, in, "a", 1); x.Smoke == "" || len(x.Unlocks) != 1 {
		t.Errorf("got %+v", x)
	}
	if x, _ = Of(p, in, "a", 0); x.Kind != planner.None || x.Goes || x.Decision.Backend == "" {
		t.Errorf("a finished job says where it would go: %+v", x)
	}
	if _, err := Of(p, in, "a", 9); err == nil {
		t.Error("a job that is not there")
	}
}

// TestLaunchesOfSegments: a job that is cut by checkpoints is launched once a
// segment and once a retry, as many times as its ceiling counts.
func TestLaunchesOfSegments(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte(`
campaign "long" {}
phase "a" {
  job {
    command = "train"
    resources { walltime = "72h" }
  }
  checkpoint { path = "part" }
  retry {
    on           = ["preempted"]
    max_attempts = 4
  }
}
`)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := planner.Input{Campaign: c, Now: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC),
		Pools: []offer.Pool{{Backend: "local.local", CPUs: 4, Idle: 4, Total: 4, MaxTime: 24 * time.Hour, Price: offer.Price{Known: true}}}}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x, err := Of(p, in, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	each := 72 / float64(x.Decision.Segments)
	if x.Decision.Segments < 3 || x.Attempts != x.Decision.Segments+3 || x.Ceiling["cpu_hours"] != fmt.Sprint(each*float64(x.Attempts)) {
		t.Errorf("%d segments in %d launches of %g h, at most %v", x.Decision.Segments, x.Attempts, each, x.Ceiling)
	}
}
