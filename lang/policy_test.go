package lang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/providers/offer"
)

// readPolicy reads the policy and the budgets of a file that also declares a market
// and a phase called train.
func readPolicy(t *testing.T, src string) (Policy, []Budget, diag.List) {
	t.Helper()
	r := &decode.Reader{Source: &syntax.Source{Files: map[string]*hcl.File{}}}
	r.Add("c.muster.hcl", []byte("backend \"vastai\" \"cloud\" {}\n"+src))
	top := r.Blocks()
	readVariables(r, top, LoadOptions{Dir: t.TempDir()})
	l := policyReader{
		Set:    backends.Read(r, top.All("backend"), map[string]offer.Schema{"vastai": {Type: "vastai"}, "local": {Type: "local"}}),
		phases: &phases{Reader: r, byName: map[string]*phaseBuild{"train": {}}},
	}
	p, b := l.policy(top.One("policy")), l.budgets(top.All("budget"))
	return p, b, append(r.Sure, r.Perhaps...)
}

// TestWithoutABlock: the defaults are those of the design.
func TestWithoutABlock(t *testing.T) {
	p, budgets, ds := readPolicy(t, "")
	if len(ds) > 0 || len(budgets) > 0 {
		t.Fatalf("%v, %v", ds.Err(), budgets)
	}
	if p.UrgentWithin != 24*time.Hour || p.LongWait != 4*time.Hour || p.PriceTolerance != 0.1 || p.StaleAfter != 180*24*time.Hour || p.MaxCancel != 0 || len(p.Rules) > 0 {
		t.Errorf("%+v", p)
	}
	if !p.Permits("vastai.cloud") {
		t.Error("without allow and deny every backend is permitted")
	}
}

func TestPermits(t *testing.T) {
	for _, c := range []struct {
		src  string
		want string // of the market and this machine, those that are permitted
	}{
		{`deny = [backend.vastai.cloud]`, "local.local"},
		{`allow = [backend.vastai.cloud]`, "vastai.cloud"},
		{"allow = [backend.vastai.cloud, backend.local.local]\n  deny = [backend.vastai.cloud]", "local.local"},
	} {
		p, _, ds := readPolicy(t, "policy {\n  "+c.src+"\n}\n")
		got := slices.DeleteFunc([]string{"vastai.cloud", "local.local"}, func(b string) bool { return !p.Permits(b) })
		if ds.HasErrors() || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v %v", c.src, got, ds.Err())
		}
	}
}

// TestStale: a month's facts age from its last day.
func TestStale(t *testing.T) {
	p := Policy{StaleAfter: 10 * 24 * time.Hour}
	fresh := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC) // ten days after 31 May
	if p.Stale("2026-05", fresh) || !p.Stale("2026-05", fresh.Add(time.Second)) {
		t.Errorf("at %s: stale %t, a second later %t", fresh, p.Stale("2026-05", fresh), p.Stale("2026-05", fresh.Add(time.Second)))
	}
	if never := (Policy{}); p.Stale("soon", fresh.AddDate(1, 0, 0)) || never.Stale("2026-05", fresh.AddDate(9, 0, 0)) {
		t.Error("what names no month, or where stale_after is nothing, is stale")
	}
}

// TestRules: each name a condition may read has the value of its own.
func TestRules(t *testing.T) {
	shape := offer.Shape{CPUs: 2, GPUs: 3, Nodes: 4, Memory: 5 << 30, Disk: 6 << 30, Walltime: 7 * time.Hour, GPU: offer.GPU{Memory: 8 << 30}}
	scope := RuleScope{Shape: shape, Jobs: 9, Long: true, Phase: "train"}
	for when, want := range map[string]bool{
		"shape.cpus == 2": true, "shape.gpus == 3": true, "shape.nodes == 4": true, "jobs == 9": true, "long": true, "urgent": false, "smoke": false,
		`shape.memory == size("5GiB")`: true, `shape.disk == size("6GiB")`: true, `shape.gpu_memory == size("8GiB")`: true,
		`shape.walltime == duration("7h")`: true, `phase == "train"`: true, `phase == "other"`: false,
	} {
		p, _, ds := readPolicy(t, "policy {\n  rule {\n    when = "+when+"\n    use = \"cheapest\"\n  }\n}\n")
		if ds.HasErrors() || len(p.Rules) != 1 || p.Rules[0].Use != "cheapest" {
			t.Errorf("%s: %v", when, ds.Err())
			continue
		}
		if got, ds := p.Rules[0].When(scope); ds.HasErrors() || got != want {
			t.Errorf("%s: %t, %v", when, got, ds.Err())
		}
	}
}

func TestBudgetCounts(t *testing.T) {
	_, budgets, ds := readPolicy(t, `
budget "all" { limits = { usd = 4 } }
budget "one" {
  limits     = { usd = 4 }
  warn_at    = 0.5
  applies_to = [phase.train, backend.local.local]
}
`)
	if ds.HasErrors() || len(budgets) != 2 {
		t.Fatalf("%v, %v", ds.Err(), budgets)
	}
	all, one := budgets[0], budgets[1]
	if all.WarnAt != 0.8 || one.WarnAt != 0.5 || all.Limits["usd"] != "4" {
		t.Errorf("%+v, %+v", all, one)
	}
	for _, c := range []struct {
		phase, backend string
		want           bool
	}{{"train", "vastai.cloud", true}, {"other", "local.local", true}, {"other", "vastai.cloud", false}} {
		if !all.Counts(c.phase, c.backend) || one.Counts(c.phase, c.backend) != c.want {
			t.Errorf("%s on %s: all %t, one %t", c.phase, c.backend, all.Counts(c.phase, c.backend), one.Counts(c.phase, c.backend))
		}
	}
}

func TestWrong(t *testing.T) {
	for src, want := range map[string]string{
		`budget "b" {}`:                        "without a limit",
		`budget "b" { limits = {} }`:           "limits nothing",
		`budget "b" { deadline = "tomorrow" }`: "is not a time",
		"budget \"b\" {\n limits = { usd = 1 }\n applies_to = [phase.tran]\n}":          "Unknown phase",
		"budget \"b\" {\n limits = { usd = 1 }\n applies_to = [backend.vastai.clod]\n}": "clod",
		"budget \"b\" {\n limits = { usd = 1 }\n applies_to = [grid.x]\n}":              "Neither a phase nor a backend",
		"policy {\n rule {\n when = true\n use = \"fastest\"\n }\n}":                    "not a way to choose",
		"policy {\n rule {\n when = jobs\n use = \"order\"\n }\n}":                      "true or false",
		"policy {\n rule {\n when = shape.cores > 1\n use = \"order\"\n }\n}":           "cores",
	} {
		if _, _, ds := readPolicy(t, src+"\n"); ds.Err() == nil || !strings.Contains(ds.Err().Error(), want) {
			t.Errorf("%s: %v, not %q", src, ds.Err(), want)
		}
	}
}

// TestSecondLook: what a policy asks for where it says little, and what it refuses.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	load := func(policy string) (*Campaign, diag.List) {
		return LoadFiles(map[string][]byte{"a.muster.hcl": []byte("campaign \"c\" {}\n" + policy + "\nphase \"p\" {\n  job { command = \"x\" }\n}\n")}, LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	}
	for policy, want := range map[string]SecondLook{
		"":                                 {Approvals: 1, Always: true},
		"policy {}":                        {Approvals: 1, Always: true},
		"policy { require_approvals = 3 }": {Approvals: 3, Always: true},
		"policy {\n  when { first_of_kind = true }\n}":                              {Approvals: 2, FirstOfKind: true},
		"policy {\n  when { money_above = 0 }\n}":                                   {Approvals: 2, MoneyAbove: "0"},
		"policy {\n  require_approvals = 4\n  when { walltime_above = \"36h\" }\n}": {Approvals: 4, WalltimeAbove: 36 * time.Hour},
	} {
		if c, ds := load(policy); ds.HasErrors() || c.Policy.SecondLook != want {
			t.Errorf("%s: %+v, want %+v; %v", policy, c.Policy.SecondLook, want, ds)
		}
	}
	for policy, want := range map[string]string{
		"policy {\n  when {}\n}":                                                       "No plan needs a second look",
		"policy { require_approvals = 0 }":                                             "require_approvals",
		"policy {\n  when { money_above = -1 }\n}":                                     "money_above",
		"policy {\n  when { money_above = \"much\" }\n}":                               "money_above",
		"known \"k\" {}":                                                               "when",
		"known \"k\" {\n  when = true\n  risk = \"dire\"\n  mitigation = \"m\"\n}":     "dire",
		"known \"k\" {\n  when = nothing.x\n  risk = \"low\"\n  mitigation = \"m\"\n}": "nothing",
	} {
		if _, ds := load(policy); !ds.HasErrors() || !strings.Contains(ds.Err().Error(), want) {
			t.Errorf("%s: %v, want an error about %q", policy, ds.Err(), want)
		}
	}
}

// TestKnownMatches: a pattern is asked of the phases that have its names, once for
// jobs that are alike.
func TestKnownMatches(t *testing.T) {
	t.Parallel()
	c, ds := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(`campaign "c" {}
known "k" {
  when       = cell.lr * param.steps > 10 && shape.gpus == 2 && pool == "a100" && strcontains(command, "--bf16") && image == "x.sif"
  risk       = "medium"
  mitigation = "m"
}
phase "has" {
  grid { axes = { lr = [1, 20], seed = range(50) } }
  params = { steps = 1 }
  job {
    command = ["train", "--bf16", cell.lr, cell.seed, param.steps]
    image   = "x.sif"
    resources { gpus = cell.seed == 7 ? 1 : 2 }
  }
}
phase "lacks" {
  grid { axes = { seed = [1, 2] } }
  job { command = "eval ${cell.seed}" }
}
`)}, LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	k := c.Known[0]
	for _, p := range c.Phases {
		m := k.Matcher(p)
		if p.Name == "lacks" {
			if m != nil {
				t.Error("a phase without the axis is asked")
			}
			continue
		}
		n := 0
		for i := range p.Len() {
			if m.Matches(i, KnownSite{Pool: "a100"}) {
				n++
			}
			if m.Matches(i, KnownSite{Pool: "other"}) {
				t.Errorf("%s matches elsewhere", p.Address(i))
			}
		}
		if n != 49 || len(m.Unread()) > 0 {
			t.Errorf("%d jobs match, want 49; %v", n, m.Unread())
		}
	}
}
