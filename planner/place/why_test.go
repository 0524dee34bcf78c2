package place

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// TestWhatWouldFitIsTheLeastToGiveUp: of pools that lack one thing the one that has
// most of it is the advice, and models are listed as a campaign writes them.
func TestWhatWouldFitIsTheLeastToGiveUp(t *testing.T) {
	t.Parallel()
	pool := func(name string, gib int64, model string) offer.Pool {
		return offer.Pool{Backend: "slurm.alpine", Name: name, Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: gib << 30, GPUs: 3, GPUModel: model, MaxNodes: 4, Idle: 3, Total: 3, Price: offer.Price{Known: true}}
	}
	pools := []offer.Pool{pool("a", 256, "A100"), pool("mixed", 64, "A100 or V100"), pool("big", 1024, "L40")}
	for want, s := range map[string]offer.Shape{
		"What would fit: memory = \"1TiB\".":                                                    {CPUs: 1, Memory: 2048 << 30, Walltime: time.Hour},
		`What would fit: models = ["A100", "V100"]; or models = ["A100"]; or models = ["L40"].`: {CPUs: 1, GPUs: 1, GPU: offer.GPU{Models: []string{"H100"}}, Walltime: time.Hour},
	} {
		_, said := decide(t, Group{Shape: s, Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = pools })
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}

// TestWhoEndsJobs: where a qos ends jobs too early, the error names the qos, and not the
// partition.
func TestWhoEndsJobs(t *testing.T) {
	t.Parallel()
	s := cpu(1, 30*time.Hour)
	for said, want := range map[string]string{
		"qos normal ends jobs at 12h":       "Walltime is longer than qos normal allows: ",
		"partition amilan ends jobs at 12h": "Walltime is longer than the partition allows: ",
	} {
		p := offer.Pool{Backend: "slurm.alpine", Name: "amilan", Kind: offer.QueuePool, Word: "partition", CPUs: 64, MaxNodes: 4, MaxTime: 12 * time.Hour, Price: offer.Price{Known: true}}
		_, got := decide(t, Group{Shape: s, Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = []offer.Pool{p} },
			quoted(s, map[string]offer.Quote{"amilan": {Why: said, MaxTime: 12 * time.Hour, Wait: -1}}))
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", said, got)
		}
	}
}
