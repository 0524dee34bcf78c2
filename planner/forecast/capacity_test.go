package forecast

import (
	"testing"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

func TestPoolCapacity(t *testing.T) {
	t.Parallel()
	const u = unlimited
	for _, c := range []struct {
		name string
		pool offer.Pool
		ours int64
		want capacity
	}{
		{"nothing known", offer.Pool{Idle: -1}, 0, capacity{u, u, u, u}},
		{"a machine's cores and memory", offer.Pool{Kind: offer.MachinePool, Word: "machine", CPUs: 4, Memory: 8, Idle: 4, Total: 4}, 0, capacity{u, u, 4, 8}},
		{"a machine's slots", offer.Pool{Kind: offer.MachinePool, Word: "machine", CPUs: 4, MaxJobs: 2}, 0, capacity{2, u, 4, u}},
		{"a partition of which no cores are told", offer.Pool{Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: 8, Idle: -1}, 0, capacity{u, u, u, u}},
		{"a partition's cores, and the memory beside them", offer.Pool{Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: 128, Idle: -1, Total: 256}, 0, capacity{u, u, 256, 512}},
		{"those that are free, and those that are ours", offer.Pool{Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: 128, Idle: 96, Total: 256}, 32, capacity{u, u, 128, 256}},
		{"6 of 8 GPUs free", offer.Pool{Kind: offer.MachinePool, Word: "machine", GPUs: 8, Idle: 6, Total: 8, Others: 2}, 0, capacity{u, 6, u, u}},
		{"4 free, 2 ours, 2 others'", offer.Pool{Kind: offer.MachinePool, Word: "machine", GPUs: 8, Idle: 4, Total: 8, Others: 2}, 2, capacity{u, 6, u, u}},
		{"all ours", offer.Pool{Kind: offer.MachinePool, Word: "machine", GPUs: 8, Idle: 0, Total: 8}, 8, capacity{u, 8, u, u}},
		{"none free, 5 others'", offer.Pool{Kind: offer.MachinePool, Word: "machine", GPUs: 8, Idle: 0, Total: 8, Others: 5}, 3, capacity{u, 3, u, u}},
		{"all others': they leave some day", offer.Pool{Kind: offer.MachinePool, Word: "machine", GPUs: 8, Idle: 0, Total: 8, Others: 8}, 0, capacity{u, 8, u, u}},
		{"12 idle of a partition's 33", offer.Pool{Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", Idle: 12, Total: 33}, 0, capacity{u, 12, u, u}},
		{"and the cores beside them", offer.Pool{Kind: offer.QueuePool, Word: "partition", CPUs: 64, GPUs: 3, GPUModel: "A100", Idle: 12, Total: 33}, 0, capacity{u, 12, 256, u}},
		{"all free, of which some were ours a moment ago", offer.Pool{Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", Idle: 6, Total: 6}, 4, capacity{u, 6, u, u}},
		{"idle unknown", offer.Pool{Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", Idle: -1, Total: 33}, 0, capacity{u, 33, u, u}},
		{"nothing known of GPUs", offer.Pool{Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", Idle: -1}, 0, capacity{u, u, u, u}},
		{"idle counts cores on a machine with one GPU", offer.Pool{Kind: offer.MachinePool, Word: "machine", CPUs: 4, GPUs: 1, Idle: 4, Total: 4}, 0, capacity{u, 1, 4, u}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := poolCapacity(c.pool, c.ours); got != c.want {
				t.Errorf("%+v, not %+v", got, c.want)
			}
		})
	}
}

// TestNarrowPool: a job that fits a node runs there although strangers hold a
// part of it now; and jobs that need different things share what there is.
func TestNarrowPool(t *testing.T) {
	t.Parallel()
	gpu := func(n, cpus int, mem int64) Group {
		g := onMachine(minutes(10))
		g.Decision = place.Decision{Backend: "ssh.lab", Shape: offer.Shape{GPUs: n, CPUs: cpus, Memory: mem, Nodes: 1}, Price: offer.Price{Known: true}}
		return g
	}
	lab := offer.Pool{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 16, Memory: 64, GPUs: 8, Idle: 6, Total: 8, Others: 2}
	for _, c := range []struct {
		name   string
		pool   offer.Pool
		groups []Group
		of     []uint16
		end    float64
	}{
		{"8 GPUs of which 6 are free", lab, []Group{{}, gpu(8, 1, 1)}, []uint16{1, 1}, 20},
		{"3 jobs of 2 GPUs on 6", lab, []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1, 1}, 10},
		{"4 jobs of 2 GPUs on 6", lab, []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1, 1, 1}, 20},
		{"cores bind", lab, []Group{{}, gpu(1, 8, 1)}, []uint16{1, 1, 1}, 20},
		{"memory binds", lab, []Group{{}, gpu(1, 1, 40)}, []uint16{1, 1}, 20},
		{"the large one waits, the small one goes ahead", lab, []Group{{}, gpu(4, 1, 1), gpu(2, 1, 1)}, []uint16{1, 1, 2}, 20},
		{"jobs of two on nodes of three", partition(3, 64, 6), []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1, 1}, 20},
		{"what is left of a node takes small ones", partition(4, 64, 8), []Group{{}, gpu(2, 1, 1), gpu(1, 1, 1)}, []uint16{1, 1, 1, 2, 2}, 10},
		{"half of a node's cores each", partition(3, 64, 6), []Group{{}, gpu(1, 32, 1)}, []uint16{1, 1, 1, 1, 1}, 20},
		{"a partition without GPUs, by cores", partition(0, 64, 128), []Group{{}, gpu(0, 32, 1)}, []uint16{1, 1, 1, 1, 1}, 20},
		{"more than half of a node's cores each", partition(0, 64, 128), []Group{{}, gpu(0, 40, 1)}, []uint16{1, 1, 1}, 20},
		{"both threads of each core", partition(0, 64, 128), []Group{{}, given(64, gpu(0, 32, 1))}, []uint16{1, 1, 1}, 20},
		{"memory keeps a node from a second", partition(0, 64, 128), []Group{{}, gpu(0, 1, 40)}, []uint16{1, 1, 1}, 20},
		{"over two nodes each", partition(0, 64, 128), []Group{{}, over(2, gpu(0, 80, 1))}, []uint16{1, 1}, 20},
		{"whole nodes", offer.Pool{Backend: "ssh.lab", Kind: offer.QueuePool, Word: "partition", GPUs: 4, GPUModel: "A100", Idle: 8, Total: 8}, []Group{{}, wholeNode(gpu(1, 1, 1))}, []uint16{1, 1, 1}, 20},
		{"the user may hold 4 of 6 GPUs", together(offer.Room{Devices: 4}, partition(3, 64, 6)), []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1, 1}, 20},
		{"two jobs of two hold four, wherever they are", together(offer.Room{Devices: 4}, partition(3, 64, 6)), []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1}, 10},
		{"jobs of both kinds hold them", together(offer.Room{Devices: 3}, partition(3, 64, 6)), []Group{{}, gpu(2, 1, 1), gpu(1, 1, 1)}, []uint16{1, 2, 2}, 20},
		{"the user's cores", together(offer.Room{Cores: 64}, partition(0, 64, 128)), []Group{{}, gpu(0, 32, 1)}, []uint16{1, 1, 1}, 20},
		{"the user's memory", together(offer.Room{Memory: 80}, partition(0, 64, 128)), []Group{{}, gpu(0, 1, 40)}, []uint16{1, 1, 1}, 20},
		{"one that is more than the limit", together(offer.Room{Devices: 1}, partition(3, 64, 6)), []Group{{}, gpu(2, 1, 1)}, []uint16{1, 1}, 20},
		{"a limit of their own", partition(3, 64, 6), []Group{{}, limited(offer.Room{Devices: 2}, gpu(1, 1, 1)), gpu(1, 1, 1)}, []uint16{1, 1, 1, 2, 2}, 20},
		{"no limit of their own", together(offer.Room{Devices: 1}, partition(3, 64, 6)), []Group{{}, limited(offer.Room{Devices: offer.NoLimit}, gpu(1, 1, 1)), gpu(1, 1, 1)}, []uint16{1, 1, 1, 2}, 10},
		{"whole nodes hold all of theirs", together(offer.Room{Devices: 4}, partition(4, 64, 8)), []Group{{}, wholeNode(gpu(1, 1, 1))}, []uint16{1, 1}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := Make(Input{Phases: []Phase{{Name: "a", Of: c.of, Groups: c.groups}}, Pools: []offer.Pool{c.pool}})
			if got := f.Walltime.P50.Minutes(); got != c.end {
				t.Errorf("ends after %v min, not %v", got, c.end)
			}
		})
	}
}

// partition has nodes of so many GPUs and cores, and 64 bytes, of which so many
// devices, or cores without any, are free.
func partition(gpus, cores, free int) offer.Pool {
	p := offer.Pool{Backend: "ssh.lab", Kind: offer.QueuePool, Word: "partition", CPUs: cores, Memory: 64, GPUs: gpus, Idle: free, Total: free}
	if gpus > 0 {
		p.GPUModel = "A100"
	}
	return p
}

// together is a pool of which our jobs hold so much together.
func together(most offer.Room, p offer.Pool) offer.Pool {
	p.Most = most
	return p
}

// limited is a group whose jobs hold so much together.
func limited(most offer.Room, g Group) Group {
	g.Decision.Limits.Most = most
	return g
}

func over(nodes int, g Group) Group {
	g.Decision.Shape.Nodes = nodes
	return g
}

func wholeNode(g Group) Group {
	g.Decision.WholeNode = true
	return g
}

// given is a group whose jobs are given so many cores each.
func given(cpus int, g Group) Group {
	g.Decision.Price.CPUs = cpus
	return g
}

// TestHeldAsGiven: two GPUs over three nodes are one of each, in what is charged
// and in what the job holds.
func TestHeldAsGiven(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 4, GPUs: 2, Nodes: 3}
	if got := Held(offer.Pool{Kind: offer.QueuePool, Word: "partition", GPUs: 1, Total: 6}, s); got != 3 {
		t.Errorf("%d GPUs are held, not 3", got)
	}
	if got := Held(offer.Pool{Kind: offer.QueuePool, Word: "partition", CPUs: 4, Total: 24}, s); got != 6 {
		t.Errorf("%d cores are held, not 6", got)
	}
}
