package offer

import "testing"

// TestGiven: nodes give devices and cores alike, as Slurm's --gres and
// --cpus-per-task have them, so that more may be given than was asked for.
func TestGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, given Shape }{
		{Shape{}, Shape{}},
		{Shape{GPUs: 3, CPUs: 5, Nodes: 1}, Shape{GPUs: 3, CPUs: 5, Nodes: 1}},
		{Shape{GPUs: 3, CPUs: 5, Nodes: 2}, Shape{GPUs: 4, CPUs: 6, Nodes: 2}},
		{Shape{GPUs: 4, Nodes: 2}, Shape{GPUs: 4, CPUs: 2, Nodes: 2}},
		{Shape{CPUs: 1, Nodes: 3}, Shape{CPUs: 3, Nodes: 3}},
	} {
		if got := c.asked.Given(); got.GPUs != c.given.GPUs || got.CPUs != c.given.CPUs || got.Nodes != c.given.Nodes {
			t.Errorf("%+v: %+v, not %+v", c.asked, got, c.given)
		}
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	node := Pool{Kind: QueuePool, Word: "partition", CPUs: 64, Memory: 256, GPUs: 3}
	whole := node
	whole.WholeNode = true
	for _, c := range []struct {
		name  string
		pool  Pool
		shape Shape
		want  Room
	}{
		{"one of three devices", node, Shape{GPUs: 1, CPUs: 1}, Room{1, 1, 0}},
		{"two of three: nothing is left for another two", node, Shape{GPUs: 2, CPUs: 8}, Room{3, 8, 0}},
		{"40 of 64 cores", node, Shape{CPUs: 40, Memory: 100}, Room{0, 64, 128}},
		{"20 of 64 cores: three fit", node, Shape{CPUs: 20}, Room{0, 21, 0}},
		{"over two nodes", node, Shape{CPUs: 80, GPUs: 4, Nodes: 2}, Room{6, 128, 0}},
		{"more than a node has is not rounded", node, Shape{CPUs: 100}, Room{0, 100, 0}},
		{"a node of which nothing is known", Pool{Kind: QueuePool, Word: "partition"}, Shape{CPUs: 5, GPUs: 2, Memory: 7}, Room{2, 5, 7}},
		{"a machine gives what is asked for", Pool{Kind: MachinePool, Word: "machine", CPUs: 64, GPUs: 3}, Shape{CPUs: 40, GPUs: 2}, Room{2, 40, 0}},
		{"whole nodes", whole, Shape{CPUs: 1, GPUs: 1, Nodes: 2}, Room{6, 128, 0}},
		{"its part of a whole node", whole, Shape{CPUs: 1, GPUs: 1, Pack: 3}, Room{1, 21, 0}},
		{"no cores stated is one", node, Shape{}, Room{0, 1, 0}},
	} {
		if got := c.pool.Takes(c.shape); got != c.want {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}

func TestPacks(t *testing.T) {
	t.Parallel()
	polaris := Pool{CPUs: 32, GPUs: 4, Memory: 512, WholeNode: true, Pack: true}
	crux := Pool{CPUs: 128, Memory: 256, WholeNode: true, Pack: true}
	unpacked, unknown := polaris, Pool{Pack: true}
	unpacked.Pack = false
	for name, c := range map[string]struct {
		pool  Pool
		shape Shape
		want  int
	}{
		"one GPU of four":                {polaris, Shape{CPUs: 1, GPUs: 1}, 4},
		"one GPU and half of the cores":  {polaris, Shape{CPUs: 16, GPUs: 1}, 2},
		"one GPU and most of the memory": {polaris, Shape{CPUs: 1, GPUs: 1, Memory: 300}, 1},
		"three GPUs of four":             {polaris, Shape{CPUs: 1, GPUs: 3}, 1},
		"no GPU on a node that has some": {polaris, Shape{CPUs: 4}, 8},
		"one core of 128":                {crux, Shape{}, 128},
		"a smoke":                        {polaris, Shape{CPUs: 1, GPUs: 1, Smoke: true}, 1},
		"two nodes":                      {polaris, Shape{CPUs: 2, GPUs: 2, Nodes: 2}, 1},
		"a site that does not pack":      {unpacked, Shape{CPUs: 1, GPUs: 1}, 1},
		"nodes that nobody knows":        {unknown, Shape{CPUs: 1}, 1},
		"more than a node has":           {polaris, Shape{CPUs: 64, GPUs: 1}, 1},
	} {
		if got := c.pool.Packs(c.shape); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}
