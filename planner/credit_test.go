package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestCreditThatRunsOut: a plan warns when the account of a cloud does not last until its
// p90 end, with the hour.
func TestCreditThatRunsOut(t *testing.T) {
	// Requirement: CST-11, CLK-03
	t.Parallel()
	c, ds := lang.LoadFiles(map[string][]byte{"a.muster.hcl": []byte(`campaign "c" {}
backend "far" "gpus" {
  hold    = "10m"
  on_hold = "release"
}
phase "p" {
  grid { axes = { seed = range(4) } }
  place { candidates = [backend.far.gpus] }
  job {
    command = "x ${cell.seed}"
    resources {
      gpus     = 1
      walltime = "10h"
    }
  }
}
`)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "far": {Type: "far", Can: offer.Capabilities{GPUs: true, Rents: true}}}})
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for left, want := range map[string]string{
		"20.00": "has $20 left, and this plan is likely to need up to $81.33 there (p90). At that rate it runs out about 2026-11-01 14:27 UTC",
		"0.00":  "runs out about 2026-11-01 12:00 UTC",
		"-3":    "runs out about 2026-11-01 12:00 UTC",
		"80.00": "runs out about 2026-11-01 21:50 UTC", // the machines are kept for ten minutes
		"81.34": "",
		"":      "",
	} {
		in := Input{Campaign: c, Now: now, Pools: []offer.Pool{{Backend: "far.gpus", Name: "a100", Kind: offer.RentalPool, CPUs: 8, Memory: 1 << 36, GPUs: 1, GPUModel: "A100", Idle: 8, Total: 8, Balance: left,
			Price: offer.Price{Known: true, USDPerHour: "2"}}}}
		_, told := Make(in)
		got := ""
		for _, d := range told {
			if strings.Contains(d.Summary, "credit does not last") {
				got = d.Detail
			}
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q left: %q, want %q", left, got, want)
		}
	}
}
