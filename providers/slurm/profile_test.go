package slurm

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

func TestAlpine(t *testing.T) {
	t.Parallel()
	p, err := Profiles.Load("cu-alpine", "slurm.alpine")
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
		Backend: "slurm.alpine", Name: "aa100", Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", GPUClass: "A100", GPUMem: 40 << 30,
		MaxNodes: 11, MinNodes: 1, MaxTime: 24 * time.Hour, Arrays: true, Idle: -1, Total: 33, Wait: -1,
		Price:    offer.Price{Known: true, SUPerGPUHour: "108.2"},
		Verified: "2026-05", Source: "profile cu-alpine", Notes: []string{"long waits at times; al40 takes the overflow"},
		Clocks: []offer.Clock{{What: "files on /scratch/alpine are purged", After: 90 * 24 * time.Hour}}, Scratch: "$SLURM_SCRATCH",
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
	entries, _ := files.ReadDir("profiles")
	if len(entries) != len(Profiles.Names())+1 || len(Profiles.Sources()) != len(Profiles.Names()) {
		t.Errorf("%d files, %d profiles, %d in the schema", len(entries), len(Profiles.Names()), len(Profiles.Sources()))
	}
	for _, e := range entries {
		src, _ := files.ReadFile("profiles/" + e.Name())
		p, err := parse(strings.TrimSuffix(e.Name(), ".hcl"), "slurm.x", src)
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
	if _, err := Profiles.Load("cu-alpin", "x"); err == nil || !strings.Contains(err.Error(), "cu-alpine") {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, err := Profiles.Load("TEMPLATE", "x"); err == nil {
		t.Error("the template is a site")
	}
	if _, err := Profiles.Load("frontera", "x"); err == nil || !strings.Contains(err.Error(), "there are cu-alpine") {
		t.Errorf("a name like none: %v", err)
	}
	const head = "site = \"x\"\nverified = \"2026-05\"\n"
	in := func(lines string) string {
		return head + "partition \"a\" {\n  max_time = \"1h\"\n  " + lines + "\n}\n"
	}
	for src, want := range map[string]string{
		`site = "x"`:                          `x.hcl:1: verified is missing: add verified = "2026-05"`,
		"site = \"x\"\nverified = \"May\"":    `x.hcl:2: verified is "May", not a month: write the one in which`,
		"site = \"\"\nverified = \"2026-05\"": "x.hcl:1: site is empty",
		head + "clock \"scratch\" {\n  after = \"90\"\n}\npartition \"a\" {\n  max_time = \"1h\"\n}\npartition \"b\" {\n  max_time = \"1h\"\n}": `x.hcl:4: clock "scratch": after: "90" has no unit`,
		head + "clock \"scratch\" {\n}":                                             `x.hcl:3: clock "scratch" has one of the two: add after = "90d", since the last use, or at =`,
		head + "clock \"a\" {\n  after = \"9d\"\n  at    = \"2026-11-28\"\n}":       `x.hcl:3: clock "a" has one of the two`,
		head + "clock \"allocation\" {\n  at = \"November\"\n}":                     `x.hcl:4: clock "allocation": at is "November", neither a day nor a time`,
		head + "partition \"a\" {\n  max_time = \"24\"\n}":                          `x.hcl:4: partition "a": max_time: "24" has no unit: write 24s for seconds, 24m for minutes or 24h for hours`,
		head + "partition \"a\" {\n  max_time = [1]\n}":                             `x.hcl:4: partition "a": max_time is a tuple: write "24h" or "7d"`,
		head + "partition \"a\" {\n  max_time = \"0s\"\n}":                          `x.hcl:4: partition "a": max_time is zero`,
		head + "partition \"a\" {\n  nodes = 3\n}":                                  `partition "a": max_time is missing: add max_time = "24h"`,
		head + "partition \"a\" {":                                                  "x.hcl:3: ",
		in("colour = 1"):                                                            `x.hcl:5: Unsupported argument: An argument named "colour" is not expected here. TEMPLATE.hcl lists and explains`,
		in("nodes = -1"):                                                            `x.hcl:5: partition "a": nodes is -1: write a whole number, 1 or more`,
		in("cpus = 1.5"):                                                            `x.hcl:5: partition "a": cpus is 1.5: write a whole number, 1 or more`,
		in(`memory = "256"`):                                                        `x.hcl:5: partition "a": memory: "256" has no unit`,
		in("nodes = 2\n  max_nodes = 3"):                                            `x.hcl:6: partition "a": max_nodes is 3, and the partition has 2 nodes`,
		in(`stands_for = ["b"]`):                                                    `x.hcl:5: partition "a": stands_for names partition "b", which has no block here: add one`,
		in("gpu \"A\" {\n    count = 1\n    memory = \"40G\"\n  }"):                 `x.hcl:7: partition "a": gpu: memory: "40G" is not exact: write 40GiB`,
		in("gpu \"A\" {\n  }"):                                                      `partition "a": gpu: count is missing: add count = 4`,
		in("gpu \"A\" {\n    count = 4\n    total = 2\n  }"):                        `x.hcl:7: partition "a": gpu: total is 2, and one node has 4`,
		in("price {\n    service_units_per_node_hour = \"a lot\"\n  }"):             `x.hcl:6: partition "a": price: service_units_per_node_hour: "a lot" is not an amount: write a plain number`,
		in("price {\n    service_units_per_gpu_hour = 3\n  }"):                      `x.hcl:6: partition "a": price: service_units_per_gpu_hour charges for GPUs, and the partition has none`,
		in("") + "partition \"a\" {\n  max_time = \"1h\"\n}":                        `x.hcl:7: partition "a" appears twice`,
		head + "qos \"a\" {\n  max_time = \"soon\"\n}":                              `x.hcl:4: qos "a": max_time: "soon" is not a duration: write`,
		head + "qos \"a\" {\n  max_submit = 0\n}":                                   `x.hcl:4: qos "a": max_submit is 0: write a whole number`,
		head + "qos \"a\" {\n  default = true\n}\nqos \"b\" {\n  default = true\n}": `x.hcl:6: qos "b": default: qos "a" is the default already`,
		in("") + "qos \"q\" {\n  only = [\"aa\"]\n}":                                `x.hcl:8: qos "q": only names partition "aa", which has no block here: add one, or take the name out; there are a`,
	} {
		_, err := parse("x", "slurm.x", []byte(src))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", src, err, want)
		} else if n := strings.Count(err.Error(), "\n"); n > 0 {
			t.Errorf("%s\none mistake, %d errors: %v", src, n+1, err)
		}
	}
}

// TestAllMistakesAreToldAtOnce, each with its line.
func TestAllMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse("x", "slurm.x", []byte(`site = "x"
verified = "May"
partition "a" {
  max_time = "24"
  memory = "1"
}
qos "q" {
  only = ["b"]
}
`))
	for _, at := range []string{"x.hcl:2: ", "x.hcl:4: ", "x.hcl:5: ", "x.hcl:8: "} {
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("nothing of %s in: %v", at, err)
		}
	}
}

// TestTemplateHasAll that a profile may say, and says what each is.
func TestTemplateHasAll(t *testing.T) {
	t.Parallel()
	src, err := files.ReadFile("profiles/TEMPLATE.hcl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	var names func(of reflect.Type)
	names = func(of reflect.Type) {
		for i := range of.NumField() {
			tag := of.Field(i).Tag.Get("hcl")
			name, kind, _ := strings.Cut(tag, ",")
			switch {
			case kind == "block":
				inner := of.Field(i).Type
				for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				if !regexp.MustCompile(`(?m)^\s*` + name + ` ("[^"]+" )?\{`).MatchString(text) {
					t.Errorf("there is no block %s", name)
				}
				names(inner)
			case kind == "label" || name == "":
			case !regexp.MustCompile(`(?m)^\s*(# )?` + name + ` +=.+# .+`).MatchString(text):
				t.Errorf("%s does not stand there with a comment beside it", name)
			}
		}
	}
	names(reflect.TypeFor[site]())
	// What is commented out reads, too.
	open := regexp.MustCompile(`(?m)^(\s*)# (\w+ +=)`).ReplaceAllString(text, "$1$2")
	if p, err := parse("x", "slurm.x", []byte(open)); err != nil || open == text || p.PerBilling["gpu"] == "" {
		t.Errorf("without the marks of comments: %v, %+v", err, p.PerBilling)
	}
}
