package cluster

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
		l := &Partition{Name: "aa100", GPUs: map[string]int{"a100": 3}, weights: parseWeights(text)}
		sum, most := (&Facts{}).Billing(l, shape), (&Facts{maxTRES: true}).Billing(l, shape)
		if sum != want[0] || most != want[1] {
			t.Errorf("%q: %d and %d, want %d", text, sum, most, want)
		}
	}
}
