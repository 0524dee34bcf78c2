package cluster

import (
	"context"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestBilling: billing is computed as slurmctld does. 22.05 put
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

// TestGivenWholeCores: of cores with two threads a job is given both, as 22.05
// did: 2 CPUs for 1, 4 for 3, with the default memory of what it is given, and
// 10 for 8500M where a CPU may have 1000M.
func TestGivenWholeCores(t *testing.T) {
	t.Parallel()
	nodes := "NodeName=a1 CPUTot=64 ThreadsPerCore=2 Partitions=a,both\nNodeName=b1 CPUTot=64 ThreadsPerCore=1 Partitions=b,both\n"
	for name, c := range map[string]struct {
		giving, partition string
		shape             offer.Shape
		want              int
	}{
		"one":             {"CR_CORE_MEMORY", "a", offer.Shape{CPUs: 1}, 2},
		"three":           {"CR_Core", "a", offer.Shape{CPUs: 3}, 4},
		"whole ones":      {"CR_CORE_MEMORY", "a", offer.Shape{CPUs: 4}, 4},
		"of two nodes":    {"CR_CORE_MEMORY", "a", offer.Shape{CPUs: 6, Nodes: 2}, 8},
		"one thread each": {"CR_CORE_MEMORY", "b", offer.Shape{CPUs: 3}, 3},
		"some have two":   {"CR_CORE_MEMORY", "both", offer.Shape{CPUs: 3}, 4},
		"by threads":      {"CR_CPU_MEMORY", "a", offer.Shape{CPUs: 3}, 3},
	} {
		k := New(runs(func(argv []string) string {
			switch argv[len(argv)-1] {
			case "partition":
				return "PartitionName=" + c.partition + "\n"
			case "config":
				return "DefMemPerCPU = 512\nSelectTypeParameters = " + c.giving + "\n"
			case "nodes":
				return nodes
			}
			return ""
		}), "me")
		s, err := k.Facts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l := s.Partition(c.partition)
		if got := l.Given(c.shape); got.CPUs != c.want || got.Memory != int64(c.want)*512<<20 {
			t.Errorf("%s: %d CPUs and %d bytes, want %d", name, got.CPUs, got.Memory, c.want)
		}
		if got, want := l.Given(l.OneThread(c.shape)), max(c.shape.CPUs, c.shape.Nodes, 1)*max(l.threads, 1); got.CPUs != want || got.Memory != int64(c.shape.CPUs)*512<<20 {
			t.Errorf("%s: %d CPUs and %d bytes where each runs one thread, want %d", name, got.CPUs, got.Memory, want)
		}
		l.maxMemCPU = 1000 << 20
		if got, want := l.Given(offer.Shape{CPUs: 1, Memory: 8500 << 20}).CPUs, 9+9%max(l.threads, 1); got != want {
			t.Errorf("%s: %d CPUs for its memory, want %d", name, got, want)
		}
	}
}

// runs answers commands with what it says of each.
type runs func(argv []string) string

func (f runs) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	return command.Result{Out: []byte(f(argv))}, nil
}
