package place

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// TestMisfits has each way in which a pool cannot take a job, what is said of
// it, and what would fit.
func TestMisfits(t *testing.T) {
	// Requirement: DT-16
	t.Parallel()
	h := time.Hour
	nodes := func(n int) offer.Shape { s := cpu(1, h); s.Nodes = n; return s }
	memory := func(n int64) offer.Shape { s := cpu(1, h); s.Memory = n; return s }
	model := func(m ...string) offer.Shape { s := gpus(1, h); s.GPU.Models = m; return s }
	device := func(n int64) offer.Shape { s := gpus(1, h); s.GPU.Memory = n; return s }
	smoke := func(s offer.Shape) offer.Shape { s.Smoke = true; return s }
	large := amilan
	large.MinNodes, large.MaxNodes = 4, 8
	for _, c := range []struct {
		name  string
		pool  offer.Pool
		shape offer.Shape
		why   string // "" fits
		would string
	}{
		{"fits", lab, gpus(8, h), "", ""},
		{"a testing pool is for tests", testing_, gpus(1, 20*time.Minute), "partition atesting_a100 is for tests only", ""},
		{"a testing pool takes smokes", testing_, smoke(gpus(1, 20*time.Minute)), "", ""},
		{"12 nodes of at most 11", aa100, nodes(12), "partition aa100 gives a job at most 11 nodes, but the job requests 12", "nodes = 11"},
		{"2 nodes of one machine", here, nodes(2), "local.local gives a job at most 1 node, but the job requests 2", "nodes = 1"},
		{"1 node of at least 4", large, nodes(1), "partition amilan takes jobs of 4 nodes or more, but the job requests 1", "nodes = 4"},
		{"5 cores of 4", here, cpu(5, h), "local.local has 4 cores, but the job requests 5", "cpus = 4"},
		{"65 cores of 64", amilan, cpu(65, h), "a node of partition amilan has 64 cores, but the job requests 65", "cpus = 64"},
		{"65 cores on 2 nodes of 64", amilan, func() offer.Shape { s := cpu(65, h); s.Nodes = 2; return s }(), "", ""},
		{"17GiB of 16GiB", here, memory(17 * gib), "local.local has 16GiB of memory, but the job requests 17GiB", `memory = "16GiB"`},
		{"memory unknown", aa100, memory(1000 * gib), "", ""},
		{"GPUs where there are none", here, gpus(1, h), "local.local has no GPUs", ""},
		{"9 GPUs of 8", lab, gpus(9, h), "ssh.lab has 8 GPUs, but the job requests 9", "gpus = 8"},
		{"4 GPUs of 3", aa100, gpus(4, h), "a node of partition aa100 has 3 GPUs, but the job requests 4", "gpus = 3"},
		{"4 GPUs on 2 nodes of 3", aa100, func() offer.Shape { s := gpus(4, h); s.Nodes = 2; return s }(), "", ""},
		{"H100 or H200 where A100 are", aa100, model("H100", "H200"), "partition aa100 has A100, not H100 or H200", `models = ["A100"]`},
		{"A100 where nobody says what they are", func() offer.Pool { p := aa100; p.GPUModel, p.GPUClass = "", ""; return p }(), model("A100"), "partition aa100 has an unknown GPU, not A100", ""},
		{"16GiB on a slice of 20 GB", testing_, smoke(device(16 * gib)), "", ""},
		{"20GiB on a slice of 20 GB", testing_, smoke(device(20 * gib)), "a GPU of partition atesting_a100 has 20GB, but the job requests 20GiB", `gpu { memory = "20GB" }`},
		{"80GiB of 40GiB", aa100, device(80 * gib), "a GPU of partition aa100 has 40GiB, but the job requests 80GiB", `gpu { memory = "40GiB" }`},
		{"24h of 24h", aa100, gpus(1, 24*h), "", ""},
		{"30h of 24h", aa100, gpus(1, 30*h), "partition aa100 ends jobs at 24h, but the job requests 30h", "add a checkpoint block, and the phase is run as two chained segments"},
		{"a smoke of 2h of 1h", testing_, smoke(gpus(1, 2*h)), "partition atesting_a100 ends jobs at 1h, but the job requests 2h", "let the smoke's walltime be at most 1h"},
		{"no walltime", aa100, gpus(1, 0), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			segments, bad := fit(c.pool, c.shape, false)
			switch {
			case bad == nil && (c.why != "" || segments != 1):
				t.Errorf("fits in %d segments", segments)
			case bad != nil && (bad.why != c.why || bad.would != c.would):
				t.Errorf("%q, would fit: %q", bad.why, bad.would)
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, has string
		want       bool
	}{
		{"A100", "A100", true},
		{"a100", "NVIDIA A100-SXM4-80GB", true},
		{"A100-80GB", "NVIDIA A100-SXM4-80GB", true},
		{"A100-40GB", "NVIDIA A100-SXM4-80GB", false},
		{"A100", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", true},
		{"A10", "A100", false},
		{"A100", "A10", false},
		{"L4", "L40", false},
		{"L40", "L40S", false},
		{"H200", "GH200", false},
		{"H100", "NVIDIA H100 80GB HBM3", true},
		{"V100", "Tesla V100-PCIE-16GB", true},
		{"RTX 4090", "NVIDIA GeForce RTX 4090", true},
		{"RTX4090", "NVIDIA GeForce RTX 4090", true},
		{"4090", "NVIDIA GeForce RTX 4090", true},
		{"RTX 4080", "NVIDIA GeForce RTX 4080 SUPER", false},
		{"RTX 4080 SUPER", "NVIDIA GeForce RTX 4080 SUPER", true},
		{"MI100", "AMD Instinct MI100", true},
		{"A100", "", false},
		{"NVIDIA", "NVIDIA A100", false},
	} {
		if got := modelFits(offer.Pool{GPUModel: c.has}, []string{"none", c.asked}); got != c.want {
			t.Errorf("%q on %q: %v", c.asked, c.has, got)
		}
	}
	if !modelFits(offer.Pool{GPUModel: "3g.20gb", GPUClass: "A100"}, []string{"A100"}) {
		t.Error("a slice is not of its family")
	}
}

func TestFamily(t *testing.T) {
	// Requirement: DT-19
	t.Parallel()
	for _, c := range []struct {
		pool offer.Pool
		want string
	}{{aa100, "A100"}, {testing_, "A100"}, {cloud, "A100"}, {lab, "A100"}, {here, ""}} {
		if got := c.pool.Family(everyone); got != c.want {
			t.Errorf("%s%s: %q, not %q", c.pool.Backend, c.pool.Name, got, c.want)
		}
	}
}

// TestAway: once a campaign has begun, what cannot be asked is waited for if
// it would do.
func TestAway(t *testing.T) {
	t.Parallel()
	begun := func(in *Input) { in.Begun = true }
	for _, c := range []struct {
		name string
		g    Group
		mods []func(*Input)
		want string // "" for an error
	}{
		{"not begun", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){away("ssh.lab")}, ""},
		{"would fit", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){begun, away("ssh.lab")}, "ssh.lab cannot be asked: no route to host"},
		{"nothing known of it", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){begun, away("ssh.lab"), without("ssh.lab")}, "ssh.lab cannot be asked: no route to host"},
		{"would not fit", Group{Shape: gpus(20, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){begun, away("ssh.lab")}, ""},
		{"the other does not fit", Group{Shape: gpus(1, time.Hour), Candidates: []string{"local.local", "ssh.lab"}}, []func(*Input){begun, away("ssh.lab")}, "ssh.lab cannot be asked: no route to host"},
		{"a smoke", Group{Smoke: true, Within: "ssh.lab", Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){begun, away("ssh.lab")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, c.g, c.mods...)
			if d.Backend != "" || d.Away != c.want || (said == "") != (c.want != "") {
				t.Errorf("%s: waits for %q, said %q", goes(d), d.Away, said)
			}
		})
	}
}

// TestPassing: what the backend says is over one day by itself is waited for once
// the campaign has begun; before, and where it does not say so, it is an error.
func TestPassing(t *testing.T) {
	t.Parallel()
	g := Group{Shape: a100(time.Hour), Candidates: []string{"slurm.alpine"}}
	for _, c := range []struct {
		begun, passing bool
		want           string
	}{{true, true, "slurm.alpine: its nodes are down"}, {true, false, ""}, {false, true, ""}} {
		d, said := decide(t, g, func(in *Input) {
			in.Begun = c.begun
			in.Quotes = []Quoted{{Shape: g.Shape, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Wait: -1, Why: "its nodes are down", Passing: c.passing}}}
		})
		if d.Backend != "" || d.Away != c.want || (said == "") != (c.want != "") {
			t.Errorf("%+v: %s, waits for %q, said %q", c, goes(d), d.Away, said)
		}
	}
}

// TestLongerThanThePool: a backend that says a shape fits although its pool ends
// others earlier is believed, up to what it says.
func TestLongerThanThePool(t *testing.T) {
	t.Parallel()
	g := Group{Shape: a100(30 * time.Hour), Candidates: []string{"slurm.alpine"}}
	for most, fits := range map[time.Duration]bool{7 * 24 * time.Hour: true, 0: false} {
		d, said := decide(t, g, func(in *Input) {
			in.Quotes = []Quoted{{Shape: g.Shape, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Wait: -1, Fits: true, MaxTime: most}}}
		})
		if (d.Pool == "aa100" && d.Segments == 1 && said == "") != fits {
			t.Errorf("%s: %s in %d segments, said %q", most, goes(d), d.Segments, said)
		}
	}
}

// TestNothingFits: the error names every candidate, what each lacks and what
// would fit.
func TestNothingFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		g    Group
		mods []func(*Input)
		want []string
	}{
		{"too long for the only partition", Group{Shape: a100(30 * time.Hour), Candidates: []string{"slurm.alpine"}}, nil, []string{
			"Walltime is longer than the partition allows: Partition aa100 of backend.slurm.alpine ends jobs at 24h. Add a checkpoint block, and the phase is run as two chained segments."}},
		{"too many GPUs", Group{Shape: gpus(20, time.Hour), Candidates: []string{"ssh.lab", "local.local"}}, nil, []string{
			"No place fits: Every candidate was looked at:", "  ssh.lab: ssh.lab has 8 GPUs, but the job requests 20", "  local.local: local.local has no GPUs", "What would fit: gpus = 8."}},
		{"away", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab", "slurm.alpine"}}, []func(*Input){away("ssh.lab", "slurm.alpine"), without("slurm.alpine")}, []string{
			"ssh.lab and slurm.alpine cannot be asked, and no other place is named:", "ssh.lab cannot be asked: no route to host", "slurm.alpine cannot be asked: no route to host", "muster backends"}},
		{"one away and one too small", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab", "local.local"}}, []func(*Input){away("ssh.lab")}, []string{
			"ssh.lab cannot be asked, and no other place fits: Whether it fits is not known:", "The others do not fit:\n  local.local: local.local has no GPUs"}},
		{"away, with pools that would not do", Group{Shape: gpus(1, time.Hour), Candidates: []string{"slurm.alpine", "local.local"}}, []func(*Input){away("slurm.alpine"), func(in *Input) {
			in.Pools = append(in.Pools, offer.Pool{Backend: "slurm.alpine", Name: "amilan", Kind: offer.QueuePool, Word: "partition", CPUs: 64})
		}}, []string{"slurm.alpine cannot be asked, and no other place fits: Whether it fits is not known:", "The others do not fit:\n  local.local: local.local has no GPUs"}},
		{"away, and too long for one of its pools", Group{Shape: a100(2 * time.Hour), Candidates: []string{"slurm.alpine"}}, []func(*Input){away("slurm.alpine"), func(in *Input) {
			in.Pools = append(in.Pools, offer.Pool{Backend: "slurm.alpine", Name: "short", Kind: offer.QueuePool, Word: "partition", CPUs: 64, GPUs: 3, GPUModel: "A100", GPUClass: "A100", MaxTime: time.Hour})
		}}, []string{"slurm.alpine cannot be asked, and no other place is named: Whether it fits is not known:\n  slurm.alpine cannot be asked: no route to host"}},
		{"nothing known", Group{Shape: gpus(1, time.Hour), Candidates: []string{"ssh.lab"}}, []func(*Input){without("ssh.lab")}, []string{"ssh.lab: its resources are unknown"}},
		{"no place named, and too large for this machine", Group{Shape: cpu(32, 2*time.Hour)}, nil, []string{
			"local.local has 4 cores, but the job requests 32", "What would fit: cpus = 4.", "place { candidates = [backend.slurm.alpine, backend.ssh.lab, backend.vastai.cloud] }."}},
		{"GPU work without any GPU", Group{Shape: gpus(1, time.Hour)}, []func(*Input){without("ssh.lab", "slurm.alpine", "vastai.cloud")}, []string{"local.local has no GPUs", "GPU work needs a backend with GPUs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, c.g, c.mods...)
			if d.Backend != "" {
				t.Errorf("goes to %s", goes(d))
			}
			for _, text := range c.want {
				if !strings.Contains(said, text) {
					t.Errorf("no %q in\n%s", text, said)
				}
			}
		})
	}
}

// TestAllThatDoesNotFitIsTold, so that who follows the advice is not told the
// next thing then.
func TestAllThatDoesNotFitIsTold(t *testing.T) {
	t.Parallel()
	p := offer.Pool{Name: "a", Kind: offer.QueuePool, Word: "partition", CPUs: 8, GPUs: 1, GPUModel: "A100", MaxNodes: 1, MaxTime: 24 * time.Hour}
	_, bad := fit(p, offer.Shape{CPUs: 16, GPUs: 2, Walltime: 30 * time.Hour}, false)
	if bad == nil || bad.limit != 0 || bad.of != "cpus" ||
		bad.why != "a node of partition a has 8 cores, but the job requests 16; a node of partition a has 1 GPU, but the job requests 2; partition a ends jobs at 24h, but the job requests 30h" ||
		bad.would != "cpus = 8; gpus = 1; add a checkpoint block, and the phase is run as two chained segments" {
		t.Errorf("%+v", bad)
	}
	p.GPUs = 0
	if _, bad := fit(p, offer.Shape{CPUs: 16, GPUs: 2, Walltime: time.Hour}, false); bad == nil || bad.would != "" || !strings.Contains(bad.why, "partition a has no GPUs") {
		t.Errorf("nothing would do: %+v", bad)
	}
}
