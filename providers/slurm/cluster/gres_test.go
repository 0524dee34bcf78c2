package cluster

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// mixed is a partition of nodes with GPUs of different types, as sinfo -N tells
// it: three A100 on one, four V100 on two.
func mixed() *Partition {
	list := parsePartitions("PartitionName=gpu AllocNodes=ALL State=UP TotalNodes=3\n")
	for _, n := range [][2]string{{"g1", "gpu:a100:3"}, {"g2", "gpu:v100:4"}, {"g3", "gpu:v100:4"}} {
		list[0].add([]string{n[0], "gpu", "idle", "0/64/0/64", "262144", n[1], "", "(null)"})
	}
	return &list[0]
}

// TestMixedTypes: of a partition with several types the one that was meant is
// asked for by name, and held to the nodes that have it.
func TestMixedTypes(t *testing.T) {
	t.Parallel()
	l := mixed()
	for _, c := range []struct {
		models      []string
		gpus, nodes int
		gres, lacks string
	}{
		{nil, 1, 1, "gpu:1", ""},
		{nil, 4, 1, "gpu:4", ""},
		{[]string{"A100"}, 3, 1, "gpu:a100:3", ""},
		{[]string{"V100"}, 8, 2, "gpu:v100:4", ""},
		{[]string{"A100"}, 4, 1, "gpu:a100:4", "no node of partition gpu has 1 core, 4 GPUs of model A100 at once"},
		{[]string{"A100"}, 2, 2, "gpu:a100:1", "partition gpu has 1 node with 1 core, 1 GPU of model A100, but the job requests 2"},
		{[]string{"A100", "V100"}, 2, 1, "gpu:2", ""},
		{[]string{"V100", "A100"}, 4, 1, "gpu:4", ""},
		{[]string{"H100", "A100"}, 2, 1, "gpu:a100:2", ""},
	} {
		s := offer.Shape{GPUs: c.gpus, Nodes: c.nodes, CPUs: c.nodes, GPU: offer.GPU{Models: c.models}}
		if got := Gres(l, s); got != c.gres {
			t.Errorf("%v: asks for %s, want %s", s, got, c.gres)
		}
		if got, _ := l.Lacks(s, ""); got != c.lacks {
			t.Errorf("%v: %q, want %q", s, got, c.lacks)
		}
	}
	// Of several types that would do, one of which a node has enough.
	l.GPUs["h100"] = 1
	if got := Gres(l, offer.Shape{GPUs: 4, GPU: offer.GPU{Models: []string{"H100", "A100", "V100"}[:2]}}); got != "gpu:h100:4" {
		t.Errorf("none has enough: %s", got)
	}
	if got := Gres(l, offer.Shape{GPUs: 4, GPU: offer.GPU{Models: []string{"H100", "V100"}}}); got != "gpu:v100:4" {
		t.Errorf("the second has enough: %s", got)
	}
	// A site that names its types otherwise is not held to them.
	other := &Partition{Name: "gpu", GPUs: map[string]int{"tesla": 4}}
	other.add([]string{"g1", "gpu", "idle", "0/64/0/64", "262144", "gpu:tesla:4", "", "(null)"})
	if why, _ := other.Lacks(offer.Shape{GPUs: 4, GPU: offer.GPU{Models: []string{"V100"}}}, ""); why != "" {
		t.Errorf("one type of another name: %s", why)
	}
}

// TestTypedLimits: limits on GPUs of a type hold who asks for that type by name,
// the first that is stated.
func TestTypedLimits(t *testing.T) {
	t.Parallel()
	l := mixed()
	s := &Facts{qos: parseQoS("normal|0|||||||||gres/gpu:a100=2,cpu=64||||\nlong|0||gres/gpu:v100=3|||gres/gpu:a100=1|||||||\n"),
		Associations: parseAssoc("c|campus|alice||normal,long|normal|||||||gres/gpu:v100=2|\n")}
	for _, c := range []struct {
		qos         string
		models      []string
		gpus        int
		why, advice string
	}{
		{"normal", []string{"A100"}, 2, "", ""},
		{"normal", []string{"A100"}, 3, "qos normal gives a job 2 GPUs of type a100 at most, but the job requests 3", "ask for at most gpus = 2, or for another model"},
		{"normal", nil, 3, "", ""},
		{"normal", []string{"V100"}, 3, "account campus gives a job on each node 2 GPUs of type v100 at most, but the job requests 3", "gpus = 2"},
		{"long", []string{"A100"}, 2, "qos long gives all its jobs together 1 GPU of type a100 at most, but the job requests 2", "gpus = 1"},
		{"long", []string{"V100"}, 4, "qos long gives a user 3 GPUs of type v100 at most, but the job requests 4", "gpus = 3"},
	} {
		why, would := s.Forbids("campus", c.qos, false, offer.Shape{GPUs: c.gpus, CPUs: 1, Nodes: 1, GPU: offer.GPU{Models: c.models}}, l)
		if why != c.why || !strings.Contains(would, c.advice) {
			t.Errorf("%s, %v, %d: %q, %q", c.qos, c.models, c.gpus, why, would)
		}
	}
}
