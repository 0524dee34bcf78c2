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

// TestGiven: what a job is given beyond what it asks for, as 22.05 did: 8 cores
// for 8000M where a core may have 1000M, and 512M for a core where none is named.
func TestGiven(t *testing.T) {
	t.Parallel()
	const mb, node = 1 << 20, 256 << 30
	for name, c := range map[string]struct {
		partition, cpu, mem, node, given string
		shape, want                      offer.Shape
	}{
		"no limit":               {"DefMemPerNode=UNLIMITED", "", "", "UNLIMITED", "CR_CORE", offer.Shape{CPUs: 1}, offer.Shape{CPUs: 1}},
		"cores for its memory":   {"DefMemPerNode=UNLIMITED MaxMemPerCPU=1000", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 1, Memory: 8000 * mb}, offer.Shape{CPUs: 8, Memory: 8000 * mb}},
		"cores enough":           {"MaxMemPerCPU=1000", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 9, Memory: 8000 * mb}, offer.Shape{CPUs: 9, Memory: 8000 * mb}},
		"of each of two nodes":   {"MaxMemPerCPU=1000", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 2, Nodes: 2, Memory: 2001 * mb}, offer.Shape{CPUs: 4, Nodes: 2, Memory: 2001 * mb}},
		"the cluster's limit":    {"MaxMemPerNode=UNLIMITED", "2000", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 1, Memory: 8000 * mb}, offer.Shape{CPUs: 4, Memory: 8000 * mb}},
		"memory of cores":        {"DefMemPerNode=UNLIMITED", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 3}, offer.Shape{CPUs: 3, Memory: 1536 * mb}},
		"the partition's memory": {"DefMemPerCPU=1024", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 3}, offer.Shape{CPUs: 3, Memory: 3072 * mb}},
		"memory of nodes":        {"DefMemPerNode=4096", "", "512", "", "CR_CORE_MEMORY", offer.Shape{CPUs: 2, Nodes: 2}, offer.Shape{CPUs: 2, Nodes: 2, Memory: 8192 * mb}},
		"all of the node's":      {"DefMemPerNode=UNLIMITED", "", "", "UNLIMITED", "CR_CORE_MEMORY", offer.Shape{CPUs: 1}, offer.Shape{CPUs: 1, Memory: node}},
	} {
		l := &parsePartitions("PartitionName=x " + c.partition + "\n")[0]
		l.Memory = node
		l.memoryOf(map[string]string{"MaxMemPerCPU": c.cpu, "DefMemPerCPU": c.mem, "DefMemPerNode": c.node, "SelectTypeParameters": c.given})
		if got := l.Given(c.shape); got.CPUs != c.want.CPUs || got.Memory != c.want.Memory || got.Nodes != c.want.Nodes {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
