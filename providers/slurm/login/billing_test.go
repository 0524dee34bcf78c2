package login

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestBilling: what is billed is reckoned as slurmctld does. 22.05 put
// billing=26 into accounting for the first weights below and this job.
func TestBilling(t *testing.T) {
	t.Parallel()
	shape := offer.Shape{CPUs: 4, Memory: 8 << 30, GPUs: 2, Nodes: 1}
	for text, want := range map[string][2]int{ // by sum, by the largest
		"CPU=1.0,Mem=0.25G,GRES/gpu=10":     {26, 20},
		"":                                  {4, 4},
		"(null)":                            {4, 4},
		"CPU=0.5,Mem=0.001,GRES/gpu:a100=3": {16, 8},
	} {
		l := &livePartition{name: "aa100", gpus: map[string]int{"a100": 3}, weights: parseWeights(text)}
		sum, most := (&siteFacts{}).billing(l, shape), (&siteFacts{maxTRES: true}).billing(l, shape)
		if sum != want[0] || most != want[1] {
			t.Errorf("%q: %d and %d, want %d", text, sum, most, want)
		}
	}
	p := charged(offer.Price{Known: true}, "0.5", 26, shape)
	if p.SUPerGPUHour != "6.5" || p.SUPerCPUHour != "" {
		t.Errorf("26 units at 0.5 are %+v", p)
	}
	if p := charged(offer.Price{}, "0.5", 4, offer.Shape{CPUs: 4}); p.SUPerCPUHour != "0.5" || !p.Known {
		t.Errorf("cores: %+v", p)
	}
	if p := charged(offer.Price{SUPerGPUHour: "7"}, "", 4, shape); p.SUPerGPUHour != "7" {
		t.Errorf("a site that charges otherwise: %+v", p)
	}
}
