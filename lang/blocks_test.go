package lang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

// TestSmallBlocks loads the language's small blocks, each as its design
// writes it, in one campaign.
func TestSmallBlocks(t *testing.T) {
	t.Parallel()
	c, ds := load(t, `
variable "fast" { default = true }
backend "slurm" "alpine" { workdir = "/w" }
backend "vastai" "cloud" {
  workdir = "/workspace"
  price   = { usd_per_gpu_hour = 1.10 }
  hold    = "10m"
  on_hold = "release"
}
grid "g" {
  axes = { N = [384, 512], n = [50000, 150000], seed = [42, 43], rep = [1, 2, 3] }
  sample  = { count = 100, seed = 7 }
  repeat  = ["rep"]
  where   = cell.N < 512 || cell.n > 50000
  include = [{ N = 768, n = 652000, seed = 42, rep = 1 }]
}
phase "students" {
  grid = grid.g
  place {
    candidates = [backend.slurm.alpine, backend.vastai.cloud]   # in order
    prefer     = "cheapest"
  }
  job { command = "x ${cell.N} ${cell.n} ${cell.seed} ${checkpoint}" }
  precondition {
    condition = !fileexists("data/train.csv")
    message   = "fetch the data first: make data"
  }
  precondition {
    file     = "checkpoints/base.pt"
    min_size = "1MiB"
  }
  checkpoint {
    path       = "ckpt/${cell.key}/latest.pt"
    interval   = "30m"
    signal     = "USR1"
    grace      = "120s"
    write_time = "30s"
    max_loss   = "1h"
  }
  breaker {
    same_error = 3
    share      = 0.15
  }
  lifecycle {
    ignore_changes = [env, setup]
    prevent_rerun  = var.fast
    rerun_on_input_bytes = false
  }
}
policy {
  urgent_within   = "24h"
  long_wait       = "4h"
  price_tolerance = 0.10
  stale_after     = "180d"
  approve_above   = { usd = 100 }
  deny            = [backend.vastai.cloud]
  rule {
    when = shape.gpus > 0 && shape.walltime <= duration("1h")
    use  = "cheapest_soonest"
  }
}
import {
  to      = phase.students["N=384,n=50000,rep=1,seed=42"]
  backend = backend.slurm.alpine
  id      = "1234567_3"
}
`, func(o *LoadOptions) {
		o.Schemas = map[string]offer.Schema{"slurm": schemas["slurm"], "vastai": {Type: "vastai", Can: offer.Capabilities{Remote: true, Rents: true}}, "local": schemas["local"]}
	})
	for _, d := range ds {
		if d.Summary != "The sample is larger than the grid" {
			t.Error(d)
		}
	}
	p := c.Phases[0]
	if p.Len() != 19 {
		t.Errorf("%d cells", p.Len())
	}
	want := &Checkpoint{Interval: 30 * time.Minute, Signal: "USR1", Grace: 2 * time.Minute, WriteTime: 30 * time.Second, MaxLoss: time.Hour, Kind: File, Range: p.Checkpoint.Range}
	if d := cmp.Diff(want, p.Checkpoint); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Lifecycle{IgnoreChanges: []string{"env", "setup"}, PreventRerun: true, PreventRerunSet: true}, p.Lifecycle); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Import{{To: `phase.students["N=384,n=50000,rep=1,seed=42"]`, Backend: "slurm.alpine", ID: "1234567_3", Range: c.Imports[0].Range}}, c.Imports); d != "" {
		t.Error(d)
	}
	if c.Policy.ApproveAbove["usd"] != "100" || c.Policy.StaleAfter != 180*24*time.Hour || c.Policy.Permits("vastai.cloud") {
		t.Errorf("%+v", c.Policy)
	}
}

func TestOnHoldOfMachinesThatCannotBeStopped(t *testing.T) {
	t.Parallel()
	for can, says := range map[offer.Capabilities]string{{Rents: true}: `Machines of type "cloud" cannot be stopped: on_hold is "release" or "keep".`, {Rents: true, Stops: true}: ""} {
		_, ds := load(t, `
backend "cloud" "c" {
  hold    = "10m"
  on_hold = "stop"
}
phase "a" {
  job {
    command = "true"
  }
}`, func(o *LoadOptions) {
			o.Schemas = map[string]offer.Schema{"cloud": {Type: "cloud", Can: can}, "local": schemas["local"]}
		})
		var said string
		for _, d := range ds {
			said += d.Detail
		}
		if said != says {
			t.Errorf("%+v: %q", can, said)
		}
	}
}
