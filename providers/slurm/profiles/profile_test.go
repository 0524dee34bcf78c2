package profiles

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

func TestAlpine(t *testing.T) {
	t.Parallel()
	p, err := Load("cu-alpine", "slurm.alpine")
	if err != nil {
		t.Fatal(err)
	}
	pool := func(name string) offer.Pool {
		i := slices.IndexFunc(p.Pools, func(p offer.Pool) bool { return p.Name == name })
		if i < 0 {
			t.Fatalf("there is no pool %s", name)
		}
		return p.Pools[i]
	}
	want := offer.Pool{
		Backend: "slurm.alpine", Name: "aa100", Word: "partition", GPUs: 3, GPUModel: "A100", GPUClass: "A100", GPUMem: 40 << 30,
		MaxNodes: 11, MinNodes: 1, MaxTime: 24 * time.Hour, Arrays: true, Idle: -1, Total: 33, Wait: -1,
		Price:    offer.Price{Known: true, SUPerGPUHour: "108.2", Estimated: true},
		Verified: "2026-05", Source: "profile cu-alpine", Notes: []string{"long waits at times; al40 takes the overflow"},
		Clocks: []offer.Clock{{What: "files on /scratch/alpine are purged", After: 90 * 24 * time.Hour}},
	}
	if diff := cmp.Diff(want, pool("aa100")); diff != "" {
		t.Errorf("aa100 (-want +got):\n%s", diff)
	}
	test := pool("atesting_a100")
	if !test.Testing || !slices.Equal(test.StandsFor, []string{"aa100"}) || test.GPUClass != "A100" || test.MaxTime != time.Hour ||
		test.Price != want.Price || test.GPUMem < 16<<30 || test.GPUMem > 20<<30 {
		t.Errorf("atesting_a100: %+v", test)
	}
	if cpu := pool("amilan"); !cpu.Price.Known || cpu.Price.SUPerCPUHour != "" || cpu.GPUs != 0 || cpu.CPUs != 64 {
		t.Errorf("amilan: %+v", cpu)
	}
	if p.Verified != "2026-05" || len(p.QoS) != 4 || p.QoS[1].MaxTime != 7*24*time.Hour || p.QoS[1].MaxSubmit != 200 {
		t.Errorf("%+v", p.QoS)
	}
}

// TestShipped: every profile reads, and names only pools that it has.
func TestShipped(t *testing.T) {
	t.Parallel()
	entries, _ := files.ReadDir(".")
	if len(entries) != len(Names())+1 || len(Sources()) != len(Names()) {
		t.Errorf("%d files, %d profiles, %d in the schema", len(entries), len(Names()), len(Sources()))
	}
	for _, e := range entries {
		src, _ := files.ReadFile(e.Name())
		p, err := Parse(strings.TrimSuffix(e.Name(), ".hcl"), "slurm.x", src)
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for _, pool := range p.Pools {
			names = append(names, pool.Name)
		}
		if len(names) == 0 {
			t.Errorf("%s: no partition", e.Name())
		}
		for _, pool := range p.Pools {
			for _, other := range pool.StandsFor {
				if !slices.Contains(names, other) {
					t.Errorf("%s: %s stands for %q, which is not there", e.Name(), pool.Name, other)
				}
			}
		}
		for _, q := range p.QoS {
			for _, other := range q.Only {
				if !slices.Contains(names, other) {
					t.Errorf("%s: qos %s is for %q, which is not there", e.Name(), q.Name, other)
				}
			}
		}
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if _, err := Load("cu-alpin", "x"); err == nil || !strings.Contains(err.Error(), "cu-alpine") {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, err := Load(template, "x"); err == nil {
		t.Error("the template is a site")
	}
	for src, want := range map[string]string{
		`site = "x"`:                       "verified",
		"site = \"x\"\nverified = \"May\"": "not a month",
		"site = \"x\"\nverified = \"2026-05\"\npartition \"a\" {\n max_time = \"24\"\n}":                                                  `partition "a"`,
		"site = \"x\"\nverified = \"2026-05\"\npartition \"a\" {\n max_time = \"1h\"\n colour = 1\n}":                                     "colour",
		"site = \"x\"\nverified = \"2026-05\"\npartition \"a\" {\n max_time = \"1h\"\n gpu \"A\" {\n count = 1\n memory = \"40G\"\n }\n}": `partition "a"`,
		"site = \"x\"\nverified = \"2026-05\"\nqos \"a\" {\n max_time = \"soon\"\n}":                                                      `qos "a"`,
	} {
		if _, err := Parse("x", "slurm.x", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}
