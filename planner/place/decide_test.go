package place

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

const gib = int64(1) << 30

// The pools of the tests: this machine, a lab's, a cluster's and a market's.
var (
	here     = offer.Pool{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, Memory: 16 * gib, MaxNodes: 1, MinNodes: 1, Price: offer.Price{Known: true}}
	lab      = offer.Pool{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 32, Memory: 256 * gib, GPUs: 8, GPUModel: "NVIDIA A100-SXM4-40GB", GPUClass: "A100", GPUMem: 40 * gib, MaxNodes: 1, Price: offer.Price{Known: true}}
	aa100    = offer.Pool{Backend: "slurm.alpine", Name: "aa100", Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", GPUClass: "A100", GPUMem: 40 * gib, MaxTime: 24 * time.Hour, MaxNodes: 11, Wait: 25 * time.Minute, Arrays: true, Price: su("108.2")}
	testing_ = offer.Pool{Backend: "slurm.alpine", Name: "atesting_a100", Kind: offer.QueuePool, Word: "partition", CPUs: 10, GPUs: 1, GPUModel: "A100", GPUMem: 20e9, MaxTime: time.Hour, MaxNodes: 1, Testing: true, StandsFor: []string{"aa100"}, Price: su("108.2")}
	al40     = offer.Pool{Backend: "slurm.alpine", Name: "al40", Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "L40", GPUClass: "L40", GPUMem: 48 * gib, MaxTime: 24 * time.Hour, Price: su("50")}
	amilan   = offer.Pool{Backend: "slurm.alpine", Name: "amilan", Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: 256 * gib, MaxTime: 24 * time.Hour, Arrays: true, Wait: time.Minute, Price: offer.Price{Known: true, SUPerCPUHour: "1"}}
	cloud    = offer.Pool{Backend: "vastai.cloud", Name: "7", Kind: offer.RentalPool, Word: "offer", CPUs: 16, Memory: 64 * gib, GPUs: 1, GPUModel: "A100", GPUMem: 80 * gib, Wait: 2 * time.Minute, Price: offer.Price{Known: true, USDPerGPUHour: "1.10"}}
	everyone = []offer.Pool{here, lab, aa100, testing_, al40, amilan, cloud}
)

func su(rate string) offer.Price { return offer.Price{Known: true, SUPerGPUHour: rate} }

func backends() []*lang.Backend {
	var out []*lang.Backend
	for _, name := range []string{"local.local", "slurm.alpine", "ssh.lab", "vastai.cloud"} {
		typ, n, _ := strings.Cut(name, ".")
		out = append(out, &lang.Backend{Type: typ, Name: n})
	}
	return out
}

func cpu(n int, walltime time.Duration) offer.Shape {
	return offer.Shape{CPUs: n, Nodes: 1, Walltime: walltime}
}

func gpus(n int, walltime time.Duration) offer.Shape {
	return offer.Shape{CPUs: 1, GPUs: n, Nodes: 1, Walltime: walltime}
}

func a100(walltime time.Duration) offer.Shape {
	s := gpus(1, walltime)
	s.GPU.Models = []string{"A100"}
	return s
}

// decide places one group among all pools.
func decide(t *testing.T, g Group, mods ...func(*Input)) (Decision, string) {
	t.Helper()
	if g.Jobs == 0 {
		g.Jobs = 1
	}
	if g.Smoke {
		g.Shape.Smoke = true
	}
	g.Phase = &lang.Phase{Name: "train"}
	in := Input{Groups: []Group{g}, Backends: backends(), Pools: slices.Clone(everyone), Can: map[string]offer.Capabilities{"vastai": {Rents: true}}}
	for _, m := range mods {
		m(&in)
	}
	out, diags := Decide(in)
	var said []string
	for _, d := range diags {
		said = append(said, d.Summary+": "+d.Detail)
	}
	return out[0], strings.Join(said, "\n")
}

func goes(d Decision) string { return strings.TrimSuffix(d.Backend+" "+d.Pool, " ") }

func urgent(in *Input) { in.Urgent = true }

func queue(d time.Duration) func(*Input) {
	return func(in *Input) {
		for i := range in.Pools {
			if in.Pools[i].Name == "aa100" {
				in.Pools[i].Wait = d
			}
		}
	}
}

func without(backends ...string) func(*Input) {
	return func(in *Input) {
		in.Pools = slices.DeleteFunc(in.Pools, func(p offer.Pool) bool { return slices.Contains(backends, p.Backend) })
	}
}

func away(backends ...string) func(*Input) {
	return func(in *Input) {
		in.Unreachable = map[string]string{}
		for _, b := range backends {
			in.Unreachable[b] = "no route to host"
		}
	}
}

// alikeUnknown adds a pool that is like another one, of which it is known that
// jobs start at once, but of which that is not known: all of its nodes are down.
func alikeUnknown(like, name string) func(*Input) {
	return func(in *Input) {
		i := slices.IndexFunc(in.Pools, func(p offer.Pool) bool { return p.Name == like })
		in.Pools[i].Wait = 0
		p := in.Pools[i]
		p.Name, p.Wait, p.Idle = name, -1, 0
		in.Pools = append(in.Pools, p)
	}
}

func policy(p lang.Policy) func(*Input) { return func(in *Input) { in.Policy = p } }

// TestMaxWait: jobs go to another partition while the wait at one is longer than its
// max_wait, and stay where nothing else takes them.
func TestMaxWait(t *testing.T) {
	// Requirement: DT-13
	t.Parallel()
	accept := func(most time.Duration) func(*Input) {
		return func(in *Input) {
			for i := range in.Pools {
				if in.Pools[i].Name == "al40" {
					in.Pools[i].MaxWait, in.Pools[i].Wait = most, 5*time.Hour
				}
			}
		}
	}
	any := gpus(1, 12*time.Hour)
	only := gpus(1, 12*time.Hour)
	only.GPU.Models = []string{"L40"}
	for name, c := range map[string]struct {
		shape offer.Shape
		most  time.Duration
		want  string
	}{
		"the cheapest has no max_wait":  {any, 0, "slurm.alpine al40"},
		"its wait is within its limit":  {any, 5 * time.Hour, "slurm.alpine al40"},
		"its wait is longer":            {any, 4 * time.Hour, "slurm.alpine aa100"},
		"nothing else can take the job": {only, 4 * time.Hour, "slurm.alpine al40"},
	} {
		d, said := decide(t, Group{Shape: c.shape, Candidates: []string{"slurm.alpine"}}, accept(c.most))
		if goes(d) != c.want || said != "" {
			t.Errorf("%s: goes to %q, want %q\n%s", name, goes(d), c.want, said)
		}
		if c.want != "slurm.alpine aa100" {
			continue
		}
		i := slices.IndexFunc(d.Candidates, func(c Candidate) bool { return c.Pool == "al40" })
		if want := "jobs wait about 5h there, longer than its max_wait of 4h"; i < 0 || d.Candidates[i].Why != want {
			t.Errorf("%s: %+v, want %q", name, d.Candidates, want)
		}
	}
}

// TestTable has a case, or several, for each row of the default table
// (planner.md, Placement).
func TestTable(t *testing.T) {
	// Requirement: DT-02, DT-03, DT-04, DT-05, DT-09, DT-19, E4
	t.Parallel()
	h, m := time.Hour, time.Minute
	alpine, both := []string{"slurm.alpine"}, []string{"slurm.alpine", "vastai.cloud"}
	for _, c := range []struct {
		name string
		g    Group
		mods []func(*Input)
		want string
	}{
		{"CPU 29m: local", Group{Shape: cpu(1, 29*m), Candidates: []string{"slurm.alpine", "local.local"}}, nil, "local.local"},
		{"CPU 29m that may not be local", Group{Shape: cpu(1, 29*m), Candidates: alpine}, nil, "slurm.alpine amilan"},
		{"CPU 29m, no place", Group{Shape: cpu(1, 29*m)}, nil, "local.local"},
		{"CPU 30m: the cheapest", Group{Shape: cpu(1, 30*m), Candidates: []string{"slurm.alpine", "ssh.lab"}}, nil, "ssh.lab"},
		{"CPU 9h, no place", Group{Shape: cpu(1, 9*h)}, nil, "local.local"},
		{"CPU work idles no partition's GPUs", Group{Shape: cpu(1, 9*h), Candidates: alpine}, nil, "slurm.alpine amilan"},
		{"CPU 9h: not where it is not known when it would start", Group{Shape: cpu(1, 9*h), Candidates: alpine}, []func(*Input){alikeUnknown("amilan", "acloud")}, "slurm.alpine amilan"},
		{"CPU, no walltime", Group{Shape: cpu(1, 0)}, nil, "local.local"},

		{"GPU 59m: the cheapest", Group{Shape: a100(59 * m), Candidates: []string{"vastai.cloud", "slurm.alpine", "ssh.lab"}}, nil, "ssh.lab"},
		{"GPU 59m: service units before money", Group{Shape: a100(59 * m), Candidates: []string{"vastai.cloud", "slurm.alpine"}}, nil, "slurm.alpine aa100"},
		{"GPU 59m, the cheapest of a cluster", Group{Shape: gpus(1, 59*m), Candidates: alpine}, nil, "slurm.alpine al40"},
		{"GPU 59m: a short rental, where nothing else is", Group{Shape: a100(59 * m), Candidates: []string{"vastai.cloud"}}, nil, "vastai.cloud 7"},
		{"a smoke: the testing partition", Group{Shape: a100(20 * m), Candidates: alpine, Smoke: true, Within: "slurm.alpine", Class: "A100"}, nil, "slurm.alpine atesting_a100"},
		{"a smoke of 2h: too long for the testing partition", Group{Shape: a100(2 * h), Candidates: alpine, Smoke: true, Within: "slurm.alpine", Class: "A100"}, nil, "slurm.alpine aa100"},
		{"a smoke without a testing partition", Group{Shape: a100(20 * m), Candidates: []string{"vastai.cloud"}, Smoke: true, Within: "vastai.cloud", Class: "A100"}, nil, "vastai.cloud 7"},

		{"GPU 1h: production", Group{Shape: a100(h), Candidates: both}, nil, "slurm.alpine aa100"},
		{"GPU 4h: production, though the rental is named first", Group{Shape: a100(4 * h), Candidates: []string{"vastai.cloud", "slurm.alpine"}}, nil, "slurm.alpine aa100"},
		{"GPU 4h, urgent: a rental", Group{Shape: a100(4 * h), Candidates: both}, []func(*Input){urgent}, "vastai.cloud 7"},
		{"GPU 4h, urgent, no rental: the soonest", Group{Shape: gpus(1, 4*h), Candidates: []string{"slurm.alpine", "ssh.lab"}}, []func(*Input){urgent}, "ssh.lab"},
		{"GPU 4h, 5h of queue", Group{Shape: a100(4 * h), Candidates: both}, []func(*Input){queue(5 * h)}, "vastai.cloud 7"},
		{"GPU 2h, 3h of queue: longer than the job", Group{Shape: a100(2 * h), Candidates: both}, []func(*Input){queue(3 * h)}, "vastai.cloud 7"},
		{"GPU 4h, 3h of queue: not long", Group{Shape: a100(4 * h), Candidates: both}, []func(*Input){queue(3 * h)}, "slurm.alpine aa100"},
		{"GPU 4h, 3h of queue, long_wait 2h", Group{Shape: a100(4 * h), Candidates: both}, []func(*Input){queue(3 * h), policy(lang.Policy{LongWait: 2 * h})}, "vastai.cloud 7"},
		{"GPU 8h, urgent: a rental still", Group{Shape: a100(8 * h), Candidates: both}, []func(*Input){urgent}, "vastai.cloud 7"},

		{"GPU 9h, urgent: production", Group{Shape: a100(9 * h), Candidates: both}, []func(*Input){urgent}, "slurm.alpine aa100"},
		{"GPU 24h: production", Group{Shape: a100(24 * h), Candidates: both}, nil, "slurm.alpine aa100"},
		{"GPU, no walltime: production", Group{Shape: a100(0), Candidates: both}, nil, "slurm.alpine aa100"},
		{"GPU, no place: everything is looked at", Group{Shape: a100(24 * h)}, nil, "ssh.lab"},
		{"over the longest walltime, with a checkpoint: chained", Group{Shape: a100(30 * h), Candidates: alpine, Checkpoint: true}, nil, "slurm.alpine aa100"},

		{"first choice away: the next", Group{Shape: a100(24 * h), Candidates: []string{"ssh.lab", "slurm.alpine"}}, []func(*Input){away("ssh.lab")}, "slurm.alpine aa100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, c.g, c.mods...)
			if goes(d) != c.want || said != "" {
				t.Errorf("goes to %q by %s, not %q; %s", goes(d), d.Rule, c.want, said)
			}
			if d.Why == "" || d.Segments < 1 {
				t.Errorf("why %q, %d segments", d.Why, d.Segments)
			}
		})
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	all := []string{"vastai.cloud", "slurm.alpine", "ssh.lab"}
	s := a100(4 * time.Hour)
	busy := func(in *Input) { in.Pools[1].Wait = time.Hour }
	for _, c := range []struct {
		prefer string
		names  []string
		mods   []func(*Input)
		want   string
	}{
		{"order", all, nil, "vastai.cloud 7"},
		{"order", []string{"slurm.alpine", "ssh.lab"}, nil, "slurm.alpine aa100"},
		{"cheapest", all, nil, "ssh.lab"},
		{"cheapest", all, []func(*Input){without("ssh.lab")}, "slurm.alpine aa100"},
		{"soonest", all, nil, "ssh.lab"},
		{"soonest", all, []func(*Input){busy}, "vastai.cloud 7"},
	} {
		t.Run(c.prefer+" of "+strings.Join(c.names, ","), func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, Group{Shape: s, Candidates: c.names, Prefer: c.prefer}, c.mods...)
			if goes(d) != c.want || said != "" || d.Why != "place prefers "+c.prefer {
				t.Errorf("goes to %q (%s), not %q; %s", goes(d), d.Why, c.want, said)
			}
		})
	}
}

func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		policy lang.Policy
		want   string
	}{
		{"deny the lab", lang.Policy{Deny: []string{"ssh.lab"}}, "slurm.alpine aa100"},
		{"allow the market", lang.Policy{Allow: []string{"vastai.cloud"}}, "vastai.cloud 7"},
		{"allow two, deny one", lang.Policy{Allow: []string{"vastai.cloud", "ssh.lab"}, Deny: []string{"ssh.lab"}}, "vastai.cloud 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, Group{Shape: a100(9 * time.Hour)}, policy(c.policy))
			if goes(d) != c.want {
				t.Errorf("goes to %q, not %q; %s", goes(d), c.want, said)
			}
		})
	}
	t.Run("nothing left", func(t *testing.T) {
		t.Parallel()
		d, said := decide(t, Group{Shape: a100(time.Hour), Candidates: []string{"ssh.lab"}}, policy(lang.Policy{Deny: []string{"ssh.lab"}}))
		if d.Backend != "" || !strings.Contains(said, "no candidate is left: see place, and allow and deny in policy") {
			t.Errorf("goes to %q: %s", goes(d), said)
		}
	})
}

func TestSegments(t *testing.T) {
	// Requirement: DT-06, WT-02
	t.Parallel()
	for walltime, want := range map[time.Duration]int{24 * time.Hour: 1, 30 * time.Hour: 2, 47 * time.Hour: 2, 48 * time.Hour: 3, 240 * time.Hour: 11} {
		d, said := decide(t, Group{Shape: a100(walltime), Candidates: []string{"slurm.alpine"}, Checkpoint: true})
		if d.Segments != want {
			t.Errorf("%v: %d segments, not %d; %s", walltime, d.Segments, want, said)
		}
	}
}

// TestQuotedSegments: where only the walltime is too long, for a limit that the
// pool's facts do not have, what has a checkpoint is cut to what it may be; what
// has none does not fit, with the backend's reason.
func TestQuotedSegments(t *testing.T) {
	t.Parallel()
	quote := func(s offer.Shape, most time.Duration) func(*Input) {
		return func(in *Input) {
			in.Quotes = []Quoted{{Shape: s, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Wait: -1, MaxTime: most, Why: "qos normal ends jobs at 6h", Would: "set qos"}}}
		}
	}
	shape := a100(20 * time.Hour)
	for _, c := range []struct {
		checkpoint bool
		most       time.Duration
		segments   int
	}{{true, 6 * time.Hour, 4}, {false, 6 * time.Hour, 0}, {true, 0, 0}} {
		d, said := decide(t, Group{Shape: shape, Candidates: []string{"slurm.alpine"}, Checkpoint: c.checkpoint}, quote(shape, c.most))
		if d.Segments != c.segments || (c.segments == 0) != strings.Contains(said, "qos normal ends jobs at 6h") {
			t.Errorf("%+v: %d segments; %s", c, d.Segments, said)
		}
	}
}

func TestArrays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs int
		on   string
		want bool
	}{{49, "slurm.alpine", false}, {50, "slurm.alpine", true}, {5000, "ssh.lab", false}} {
		if d, _ := decide(t, Group{Shape: a100(9 * time.Hour), Jobs: c.jobs, Candidates: []string{c.on}}); d.Array != c.want {
			t.Errorf("%d jobs on %s: array %v", c.jobs, c.on, d.Array)
		}
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	h := time.Hour
	for _, c := range []struct {
		name  string
		names []string
		shape offer.Shape
		mods  []func(*Input)
		want  string
	}{
		{"first choice there", []string{"ssh.lab", "slurm.alpine"}, a100(9 * h), nil, ""},
		{"first choice away", []string{"ssh.lab", "slurm.alpine"}, a100(9 * h), []func(*Input){away("ssh.lab")}, "ssh.lab cannot be asked (no route to host): slurm.alpine instead"},
		{"first choice away and unknown", []string{"ssh.lab", "slurm.alpine"}, a100(9 * h), []func(*Input){away("ssh.lab"), without("ssh.lab")}, "ssh.lab cannot be asked (no route to host): slurm.alpine instead"},
		{"the cheapest away, written second", []string{"slurm.alpine", "ssh.lab"}, a100(9 * h), []func(*Input){away("ssh.lab")}, "ssh.lab cannot be asked (no route to host): slurm.alpine instead"},
		{"one away that would not have been chosen", []string{"ssh.lab", "slurm.alpine"}, a100(9 * h), []func(*Input){away("slurm.alpine")}, ""},
		{"first choice too small", []string{"ssh.lab", "slurm.alpine"}, gpus(9, 9*h), []func(*Input){func(in *Input) { in.Pools[2].GPUs = 16 }}, "ssh.lab does not fit: slurm.alpine instead"},
		{"no place, so none was to be first", nil, gpus(1, 9*h), nil, ""},
		{"first choice lost by the rule", []string{"slurm.alpine", "ssh.lab"}, a100(9 * h), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, Group{Shape: c.shape, Candidates: c.names}, c.mods...)
			if d.Fallback != c.want || d.Backend == "" {
				t.Errorf("on %s: %q, not %q; %s", goes(d), d.Fallback, c.want, said)
			}
		})
	}
}

// TestNamedForTests: a pool for tests takes what is no smoke where the options name
// it, with a warning, and otherwise not.
func TestNamedForTests(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]struct{ on, says string }{
		`{"partition": "atesting_a100"}`: {"slurm.alpine atesting_a100", "Other work is for aa100."},
		`{"partition": "aa100"}`:         {"slurm.alpine aa100", ""},
		`{}`:                             {"slurm.alpine aa100", ""},
	} {
		g := Group{Shape: gpus(1, 20*time.Minute), Candidates: []string{"slurm.alpine"}, Options: map[string]json.RawMessage{"slurm": json.RawMessage(options)}}
		g.Shape.GPU.Models = []string{"A100"}
		if d, said := decide(t, g); goes(d) != want.on || (want.says == "") != (said == "") || !strings.Contains(said, want.says) {
			t.Errorf("%s goes to %q, not %q; %s", options, goes(d), want.on, said)
		}
	}
}

// TestSmokeEnvironment keeps smokes where their phase runs.
func TestSmokeEnvironment(t *testing.T) {
	t.Parallel()
	any20 := gpus(1, 20*time.Minute)
	for _, c := range []struct {
		name string
		g    Group
		want string
	}{
		{"the backend of the phase, though another is free", Group{Shape: any20, Candidates: []string{"slurm.alpine", "ssh.lab"}, Within: "slurm.alpine", Class: "A100"}, "slurm.alpine atesting_a100"},
		{"the GPU family of the phase", Group{Shape: any20, Candidates: []string{"slurm.alpine"}, Within: "slurm.alpine", Class: "L40"}, "slurm.alpine al40"},
		{"CPU work: any pool of the backend", Group{Shape: cpu(1, 20*time.Minute), Candidates: []string{"slurm.alpine"}, Within: "slurm.alpine"}, "slurm.alpine amilan"},
		{"a place of its own", Group{Shape: any20, Candidates: []string{"ssh.lab"}, Class: "L40"}, "ssh.lab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.g.Smoke = true
			if d, said := decide(t, c.g); goes(d) != c.want {
				t.Errorf("goes to %q, not %q; %s", goes(d), c.want, said)
			}
		})
	}
	t.Run("nothing of the family", func(t *testing.T) {
		t.Parallel()
		d, said := decide(t, Group{Shape: any20, Candidates: []string{"slurm.alpine"}, Smoke: true, Within: "slurm.alpine", Class: "H100"})
		if d.Backend != "" || !strings.Contains(said, "No place fits the smoke") || !strings.Contains(said, "the phase runs on H100, not L40") {
			t.Errorf("goes to %q: %s", goes(d), said)
		}
	})
}

// TestQuotes: a live quote wins over the pool's facts, where it says something.
func TestQuotes(t *testing.T) {
	t.Parallel()
	s := a100(9 * time.Hour)
	quote := func(q offer.Quote) func(*Input) {
		q.Backend, q.Pool = "slurm.alpine", "aa100"
		return func(in *Input) { in.Quotes = []Quoted{{Shape: s, Quote: q}} }
	}
	for _, c := range []struct {
		name  string
		quote offer.Quote
		rate  string
		wait  time.Duration
	}{
		{"price and wait", offer.Quote{Fits: true, Price: su("50"), Wait: time.Hour}, "50", time.Hour},
		{"no price", offer.Quote{Fits: true, Wait: 0}, "108.2", 0},
		{"no wait", offer.Quote{Fits: true, Price: su("50"), Wait: -1}, "50", 25 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, Group{Shape: s, Candidates: []string{"slurm.alpine"}}, quote(c.quote))
			if d.Price.SUPerGPUHour != c.rate || d.Wait != c.wait {
				t.Errorf("%s SU, wait %v; %s", d.Price.SUPerGPUHour, d.Wait, said)
			}
		})
	}
	t.Run("with options", func(t *testing.T) {
		t.Parallel()
		g := Group{Shape: s, Candidates: []string{"slurm.alpine"}, Options: map[string]json.RawMessage{"slurm": json.RawMessage(`{"qos":"long"}`)}}
		d, said := decide(t, g, func(in *Input) {
			asked := s
			asked.Options = `{"qos":"long"}`
			in.Quotes = []Quoted{{Shape: s, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Wait: time.Hour, Fits: true}},
				{Shape: asked, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Wait: -1, Why: "there is no qos long here"}}}
		})
		if d.Pool == "aa100" || !strings.Contains(said, "there is no qos long here") && d.Backend == "" {
			t.Errorf("goes to %q %s: %s", goes(d), d.Pool, said)
		}
	})
	t.Run("does not fit", func(t *testing.T) {
		t.Parallel()
		d, said := decide(t, Group{Shape: s, Candidates: []string{"slurm.alpine"}}, quote(offer.Quote{Why: "the account may not use aa100", Would: "account = \"gpu\""}))
		if d.Backend != "" || !strings.Contains(said, "the account may not use aa100") || !strings.Contains(said, `What would fit: account = "gpu"`) {
			t.Errorf("goes to %q: %s", goes(d), said)
		}
	})
}

// TestAWaitThatWasSeenHasTheBoot: a wait lasts from submission to start; a boot that is
// counted besides is taken out.
func TestAWaitThatWasSeenHasTheBoot(t *testing.T) {
	t.Parallel()
	s := a100(9 * time.Hour)
	for waited, want := range map[time.Duration]time.Duration{20 * time.Minute: 13 * time.Minute, time.Minute: 0} {
		d, said := decide(t, Group{Shape: s, Candidates: []string{"slurm.alpine"}}, func(in *Input) {
			for i := range in.Pools {
				in.Pools[i].Wait = -1
			}
			in.Quotes = []Quoted{{Shape: s, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Fits: true, Wait: -1, Boot: 7 * time.Minute}}}
			in.Waited = func(string, string) (time.Duration, bool) { return waited, true }
		})
		if d.Wait != want || !d.Waited || d.Boot != 7*time.Minute {
			t.Errorf("%v waited: wait %v, seen %v, boot %v; %s", waited, d.Wait, d.Waited, d.Boot, said)
		}
	}
}

// TestAnUnknownPriceWinsNothing: a pool of which nobody knows what it charges is
// no bargain, in money or in service units; money counts first.
func TestAnUnknownPriceWinsNothing(t *testing.T) {
	t.Parallel()
	none := offer.Price{Known: true, UnknownSU: true}
	for name, c := range map[string]struct {
		aa100, al40, cloud offer.Price
		goes, lost, why    string // and of one that lost, why
	}{
		"free beside priced":                 {su("108.2"), offer.Price{Known: true}, offer.Price{Known: true, USDPerGPUHour: "1"}, "slurm.alpine al40", "slurm.alpine aa100", "costs more"},
		"said to be free beside priced":      {su("108.2"), su("0"), offer.Price{Known: true, USDPerGPUHour: "1"}, "slurm.alpine al40", "slurm.alpine aa100", "costs more"},
		"unknown beside priced":              {su("108.2"), none, offer.Price{Known: true, USDPerGPUHour: "1"}, "slurm.alpine aa100", "slurm.alpine al40", "its price in service units is not known"},
		"unknown beside money":               {none, none, offer.Price{Known: true, USDPerGPUHour: "1"}, "slurm.alpine aa100", "vastai.cloud 7", "costs more"},
		"money unknown beside service units": {su("108.2"), none, offer.Price{}, "slurm.alpine aa100", "vastai.cloud 7", "its price is not known"},
		"unknown, and dearer in money":       {su("108.2"), offer.Price{Known: true, UnknownSU: true, USDPerGPUHour: "1"}, offer.Price{}, "slurm.alpine aa100", "slurm.alpine al40", "costs more"},
		"a rate that cannot be read":         {su("108.2"), su("cheap"), offer.Price{}, "slurm.alpine aa100", "slurm.alpine al40", "its price is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, Group{Shape: gpus(1, 9*time.Hour), Candidates: []string{"slurm.alpine", "vastai.cloud"}, Prefer: "cheapest"}, func(in *Input) {
				for i := range in.Pools {
					p := &in.Pools[i]
					if price, ok := map[string]offer.Price{"aa100": c.aa100, "al40": c.al40, "7": c.cloud}[p.Name]; ok {
						p.Price, p.Wait = price, 0
					}
				}
			})
			if goes(d) != c.goes {
				t.Errorf("goes to %s: %s", goes(d), said)
			}
			for _, o := range d.Candidates {
				if name := strings.TrimSpace(o.Backend + " " + o.Pool); name == c.lost && o.Why != c.why {
					t.Errorf("%s lost since %q, not %q", name, o.Why, c.why)
				}
			}
		})
	}
}

// TestEveryCandidateIsExplained: all pools of the candidates are listed, with
// figures, and why each lost.
func TestEveryCandidateIsExplained(t *testing.T) {
	// Requirement: DT-11
	t.Parallel()
	d, _ := decide(t, Group{Shape: gpus(1, 9*time.Hour), Candidates: []string{"slurm.alpine", "vastai.cloud", "ssh.lab"}, Expected: 2 * time.Hour})
	got := map[string]string{}
	for _, c := range d.Candidates {
		got[strings.TrimSpace(c.Backend+" "+c.Pool)] = fmt.Sprint(c.Won, " ", c.Why, " ", c.Cost[ServiceUnits], c.Cost[USD])
	}
	want := map[string]string{
		"ssh.lab":                    "true  ",
		"slurm.alpine aa100":         "false costs more 216.4",
		"slurm.alpine al40":          "false costs more 100",
		"slurm.alpine atesting_a100": "false partition atesting_a100 is for tests only 216.4",
		"slurm.alpine amilan":        "false partition amilan has no GPUs 2",
		"vastai.cloud 7":             "false is rented; the production pool comes first 2.2",
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, not %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d candidates: %v", len(got), got)
	}
}

// TestOptionsNamePool: `options "slurm" { partition = "al40" }` decides.
func TestOptionsNamePool(t *testing.T) {
	t.Parallel()
	g := Group{Shape: gpus(1, 9*time.Hour), Candidates: []string{"slurm.alpine"}, Options: map[string]json.RawMessage{"slurm": json.RawMessage(`{"partition":"aa100","qos":"normal"}`)}}
	if d, said := decide(t, g); goes(d) != "slurm.alpine aa100" {
		t.Errorf("goes to %q; %s", goes(d), said)
	}
	g.Options["slurm"] = json.RawMessage(`{"partition":"none"}`)
	if d, said := decide(t, g); d.Backend != "" || !strings.Contains(said, "options ask for partition none") {
		t.Errorf("goes to %q; %s", goes(d), said)
	}
}

// TestOrderOfPoolsChangesNothing: equal options are told apart by name.
func TestOrderOfPoolsChangesNothing(t *testing.T) {
	t.Parallel()
	twin := aa100
	twin.Name = "zz100"
	for _, pools := range [][]offer.Pool{{aa100, twin}, {twin, aa100}} {
		d, _ := decide(t, Group{Shape: a100(9 * time.Hour), Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = pools })
		if d.Pool != "aa100" {
			t.Errorf("goes to %s", d.Pool)
		}
	}
}

// TestRankBreaksTies: of pools that are as good the one is taken that the backend
// names first, and no better one is passed by for it.
func TestRankBreaksTies(t *testing.T) {
	t.Parallel()
	for want, sooner := range map[string]bool{"zz100": false, "aa100": true} {
		first, second := aa100, aa100
		first.Name, first.Wait, second.Wait, second.Rank = "zz100", time.Hour, time.Hour, 1
		if sooner {
			second.Wait = time.Minute
		}
		d, _ := decide(t, Group{Shape: a100(9 * time.Hour), Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = []offer.Pool{second, first} })
		if d.Pool != want {
			t.Errorf("goes to %s, not %s: %+v", d.Pool, want, d.Candidates)
		}
	}
}

// TestHostsShareJobs: hosts of one backend stand beside the winner, unless the
// job is pinned to one, or one costs more.
func TestHostsShareJobs(t *testing.T) {
	// Requirement: ARR-02
	t.Parallel()
	hosts := func(in *Input) {
		in.Can["ssh"] = offer.Capabilities{HostQueue: true}
		in.Pools = nil
		for i, name := range []string{"a", "b", "c"} {
			p := lab
			p.Name, p.Word, p.GPUs = name, "host", 4*i
			in.Pools = append(in.Pools, p)
		}
	}
	for name, c := range map[string]struct {
		g    Group
		mod  func(*Input)
		want string
	}{
		"those with GPUs":     {Group{Shape: a100(time.Hour)}, nil, "b c"},
		"all, for CPU work":   {Group{Shape: cpu(1, time.Hour)}, nil, "a b c"},
		"pinned":              {Group{Shape: cpu(1, time.Hour), Options: map[string]json.RawMessage{"ssh": json.RawMessage(`{"host":"b"}`)}}, nil, ""},
		"a dearer one":        {Group{Shape: cpu(1, time.Hour)}, func(in *Input) { in.Pools[1].Price.USDPerHour = "1" }, "a c"},
		"smokes stay on one":  {Group{Shape: cpu(1, time.Hour), Smoke: true}, nil, ""},
		"a scheduler's pools": {Group{Shape: cpu(1, time.Hour)}, func(in *Input) { delete(in.Can, "ssh") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.g.Candidates = []string{"ssh.lab"}
			mods := []func(*Input){hosts}
			if c.mod != nil {
				mods = append(mods, c.mod)
			}
			d, said := decide(t, c.g, mods...)
			var got []string
			for _, b := range d.Beside {
				got = append(got, b.Pool)
				won := 0
				for _, o := range b.Candidates {
					if o.Won {
						won++
						if o.Pool != b.Pool {
							t.Errorf("on %s, and %s won", b.Pool, o.Pool)
						}
					} else if o.Why == "" {
						t.Errorf("nothing is said of %s", o.Pool)
					}
				}
				if won != 1 || !strings.Contains(b.Why, "share the jobs") {
					t.Errorf("%d won: %s", won, b.Why)
				}
			}
			if strings.Join(got, " ") != c.want || d.Backend == "" {
				t.Errorf("beside %v on %q, want %q; %s", got, d.Backend, c.want, said)
			}
		})
	}
}
