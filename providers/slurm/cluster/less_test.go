package cluster

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestLess: of a partition whose nodes differ it is said which one need less would
// do, and nothing where only several at once would.
func TestLess(t *testing.T) {
	t.Parallel()
	l := &parsePartitions("PartitionName=gpu State=UP TotalNodes=3\n")[0]
	for _, n := range [][4]string{{"g1", "262144", "gpu:a100:3", "milan"}, {"g2", "65536", "gpu:v100:2", "skylake"}, {"g3", "131072", "gpu:v100:1", "skylake"}} {
		l.add([]string{n[0], "gpu", "idle", "0/64/0/64", n[1], n[2], "", n[3]})
	}
	const gib = 1 << 30
	v100 := offer.GPU{Models: []string{"V100"}}
	for what, c := range map[string]struct {
		shape      offer.Shape
		constraint string
		want       string
	}{
		"it has it":            {offer.Shape{CPUs: 1, GPUs: 2, GPU: v100}, "skylake", ""},
		"too many of a model":  {offer.Shape{CPUs: 1, GPUs: 3, GPU: v100}, "", `ask for at most gpus = 2; or models = ["A100"]`},
		"memory beside GPUs":   {offer.Shape{CPUs: 1, GPUs: 2, GPU: v100, Memory: 100 * gib}, "", `ask for at most gpus = 1; or models = ["A100"]; or ask for at most memory = "64GiB"`},
		"memory and a feature": {offer.Shape{CPUs: 1, Memory: 200 * gib}, "skylake", `ask for at most memory = "128GiB"; or take constraint out`},
		"nodes of a feature":   {offer.Shape{CPUs: 2, Nodes: 2}, "milan", "take constraint out; or ask for at most nodes = 1"},
		"two needs at once":    {offer.Shape{CPUs: 1, GPUs: 3, GPU: v100, Memory: 200 * gib}, "skylake", ""},
	} {
		if why, would := l.Lacks(c.shape, c.constraint); would != c.want || (why == "") != (what == "it has it") {
			t.Errorf("%s: %q, %q; want %q", what, why, would, c.want)
		}
	}
}
