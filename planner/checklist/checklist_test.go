package checklist

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// campaign passes every point; the cases of a test take something away.
const campaign = `campaign "check" {}
backend "slurm" "alpine" { workdir = "/scratch/me" }
phase "train" {
  grid { axes = { seed = [1, 2] } }
  place { candidates = [backend.slurm.alpine] }
  params = { steps = 100 }
  smoke {
    params   = { steps = 1 }
    walltime = "10m"
    cells    = "first"
  }
  job {
    command = "train ${cell.seed} ${param.steps}"
    options "slurm" {
      qos  = "long"
      mail = "ada@example.edu"
    }
    resources { walltime = "4h" }
  }
  retry {
    on           = ["node_failure"]
    max_attempts = 2
  }
}
`

// slurm is a queue with Slurm's words.
type slurm struct{}

func (slurm) Terms(_, options json.RawMessage) offer.Terms {
	var o struct {
		QoS, Mail string
		Extra     []string
	}
	_ = json.Unmarshal(options, &o)
	for _, x := range o.Extra {
		o.Mail = strings.TrimPrefix(x, "--mail-user=")
	}
	return offer.Terms{QoS: o.QoS, Mail: o.Mail, Pool: "partition", Submit: "sbatch"}
}

var queues = map[string]Scheduler{"slurm": slurm{}}

// world is the plan's input, before a case changes it.
type world struct {
	source string
	in     planner.Input
}

func (w *world) replace(old, with string) {
	if !strings.Contains(w.source, old) {
		panic("the campaign has no " + old)
	}
	w.source = strings.Replace(w.source, old, with, 1)
}

// list plans, and checks the only phase.
func list(t *testing.T, edit func(*world)) List {
	t.Helper()
	w := &world{source: campaign, in: planner.Input{Now: now, State: &state.State{Jobs: map[string]*state.Job{}}}}
	w.in.Observed = planner.Observed{Refreshed: true, Unreachable: map[string]string{}}
	w.in.Pools = []offer.Pool{{Backend: "slurm.alpine", Name: "aa100", Kind: offer.QueuePool, Word: "partition", CPUs: 64, MaxTime: 24 * time.Hour, Idle: 4, Wait: -1, Verified: "2026-05", Price: offer.Price{Known: true}}}
	if edit != nil {
		edit(w)
	}
	schema := offer.Schema{Type: "slurm", Options: offer.Block{Attrs: []offer.Attr{
		{Name: "qos", Type: offer.String}, {Name: "mail", Type: offer.String}, {Name: "extra", Type: offer.StringList},
	}}}
	c, diags := lang.LoadFiles(map[string][]byte{"test.muster.hcl": []byte(w.source)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "slurm": schema}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, w.source)
	}
	w.in.Campaign = c
	p, _ := planner.Make(w.in)
	lists := Of(p, w.in, "/home/me", queues)
	if len(lists) != 1 || len(lists[0].Points) != 10 {
		t.Fatalf("not one list of ten points: %+v\n%v", lists, p.Diags)
	}
	return lists[0]
}

// verdict is a smoke of the first job that ended so.
func verdict(t *testing.T, passed bool) func(*world) {
	return func(w *world) {
		c, _ := lang.LoadFiles(map[string][]byte{"test.muster.hcl": []byte(w.source)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"},
			"slurm": {Type: "slurm", Options: offer.Block{Attrs: []offer.Attr{{Name: "qos", Type: offer.String}, {Name: "mail", Type: offer.String}}}}}})
		in := w.in
		in.Campaign = c
		p, _ := planner.Make(in)
		print := p.Phases[0].Smoke.Prints[0].String()
		w.in.State.Validations = map[string]state.Validation{print: {Fingerprint: print, Passed: passed, At: now.Add(-24 * time.Hour), Message: "loss diverged"}}
	}
}

// limited has the qos of the jobs end them earlier than their partition does.
func limited(w *world) {
	shape := offer.Shape{CPUs: 1, Nodes: 1, Walltime: 4 * time.Hour, Options: `{"mail":"ada@example.edu","qos":"long"}`}
	w.in.Quotes = []place.Quoted{{Shape: shape, Quote: offer.Quote{Backend: "slurm.alpine", Pool: "aa100", Fits: true, Wait: -1, MaxTime: 6 * time.Hour}}}
}

// handed is a record of the first job, being submitted.
func handed(w *world) {
	address := `phase.train["seed=1"]`
	w.in.State.Jobs[address] = &state.Job{Address: address, Phase: "train", Status: state.Submitting, Attempts: []state.Attempt{{N: 1, Token: "tok", Backend: "slurm.alpine", Intent: now}}}
}

// TestPoints takes each point once through pass and once through fail.
func TestPoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point int
		name  string
		edit  func(*world)
		pass  bool
		why   string
	}{
		{1, "what it would start", nil, true, "1 smoke, then 2 jobs"},
		{1, "nobody was asked", func(w *world) { w.in.Observed.Refreshed = false }, false, "-refresh=false"},
		{1, "the plan has errors", func(w *world) { w.in.Pools[0].MaxTime = time.Hour }, false, "errors"},
		{2, "the rule", nil, true, "slurm.alpine aa100: "},
		{2, "the preference", func(w *world) {
			w.replace("alpine] }", "alpine]\n    prefer     = \"cheapest\"\n  }")
			w.replace("place { ", "place {\n    ")
		}, true, "place prefers cheapest"},
		{2, "no place", func(w *world) { w.in.Pools[0].MaxTime = time.Hour }, false, "2 jobs without a place"},
		{3, "of a month", nil, true, "facts of 2026-05; what is free is live"},
		{3, "live", func(w *world) { w.in.Pools[0].Verified = "" }, true, "live"},
		{3, "stale", func(w *world) { w.in.Pools[0].Verified = "2026-01" }, false, "older than stale_after"},
		{3, "away", func(w *world) { w.in.Observed.Unreachable["slurm.alpine"] = "no route" }, false, "no route"},
		{4, "runs first", nil, true, "1 smoke first, on slurm.alpine aa100"},
		{4, "passed", verdict(t, true), true, "passed on 2026-09-30"},
		{4, "failed", verdict(t, false), false, "loss diverged"},
		{4, "none", func(w *world) {
			w.replace("  smoke {\n    params   = { steps = 1 }\n    walltime = \"10m\"\n    cells    = \"first\"\n  }\n", "")
		}, false, "add smoke {"},
		{5, "fits", nil, true, "partition aa100, qos long, 1 core a job"},
		{5, "fits not", func(w *world) {
			w.replace(`resources { walltime = "4h" }`, "resources {\n      walltime = \"4h\"\n      cpus     = 65\n    }")
		}, false, "slurm.alpine aa100: "},
		{6, "set", nil, true, "ada@example.edu"},
		{6, "set by hand", func(w *world) { w.replace(`mail = "ada@example.edu"`, `extra = ["--mail-user=bob@example.edu"]`) }, true, "bob@example.edu"},
		{6, "options without", func(w *world) { w.replace(`mail = "ada@example.edu"`, "") }, false, `add mail = "me@example.edu" to options "slurm"`},
		{6, "no options", func(w *world) {
			w.replace("    options \"slurm\" {\n      qos  = \"long\"\n      mail = \"ada@example.edu\"\n    }\n", "")
		}, false, `add options "slurm" { mail = "me@example.edu" }`},
		{7, "nothing in flight", nil, true, "nothing of the phase is in flight"},
		{7, "found again", func(w *world) {
			handed(w)
			w.in.Observed.Jobs = map[string]offer.Observation{"tok": {Token: "tok", Presence: offer.Found, Status: offer.Queued, Handle: "7"}}
		}, true, "1 job in flight already"},
		{7, "twice", func(w *world) {
			handed(w)
			w.in.Observed.Jobs = map[string]offer.Observation{"tok": {Token: "tok", Presence: offer.Found, Status: offer.Queued, Handle: "7", Duplicate: "8"}}
		}, false, "1 job in the queue twice"},
		{8, "within", nil, true, "4h of 24h allowed; no checkpoint"},
		{8, "within what its qos allows", limited, true, "4h of 6h allowed by its qos or account, of 24h by partition aa100; no checkpoint"},
		{8, "segments", func(w *world) {
			w.replace(`walltime = "4h"`, `walltime = "48h"`)
			w.replace("  retry {", "  checkpoint {\n    path     = \"c.pt\"\n    interval = \"1h\"\n  }\n  retry {")
		}, true, "chained by checkpoint of 24h allowed"},
		{8, "too long", func(w *world) { w.replace(`walltime = "4h"`, `walltime = "30h"`) }, false, "slurm.alpine aa100: "},
		{8, "none", func(w *world) { w.replace(`resources { walltime = "4h" }`, "") }, false, `add walltime = "4h"`},
		{9, "in the state", nil, true, "/home/me"},
		{9, "handed over without an id", func(w *world) {
			handed(w)
			w.in.Observed.Jobs = map[string]offer.Observation{"tok": {Token: "tok", Presence: offer.Unknown}}
		}, false, "1 job submitted with an unknown id"},
		{10, "retry", nil, true, "retry on node_failure, 2 launches at most; breaker at 3 equal errors in a row or 15% of a batch"},
		{10, "only the defaults", func(w *world) {
			w.replace("  retry {\n    on           = [\"node_failure\"]\n    max_attempts = 2\n  }\n", "")
		}, true, "only the defaults: "},
		{10, "the project's own catalogue", func(w *world) {
			w.source += "failure \"velocity\" {\n  match  = \"velocity exceeds\"\n  action = \"hold\"\n}\n"
		}, true, "1 failure block (velocity)"},
		{10, "none", func(w *world) {
			w.replace("  retry {\n    on           = [\"node_failure\"]\n    max_attempts = 2\n  }\n", "  breaker {\n    same_error = 0\n    share = 0\n  }\n")
		}, false, "the breaker is off"},
	} {
		t.Run(points[c.point-1].name+": "+c.name, func(t *testing.T) {
			t.Parallel()
			p := list(t, c.edit).Points[c.point-1]
			if p.Pass != c.pass || !strings.Contains(p.Why, c.why) {
				t.Errorf("pass is %v: %s\nwant %v with %q", p.Pass, p.Why, c.pass, c.why)
			}
		})
	}
}

// TestAllTen: a campaign can pass every point.
func TestAllTen(t *testing.T) {
	// Requirement: SUB-19
	t.Parallel()
	if l := list(t, nil); l.Passed() != 10 {
		t.Errorf("%+v", l)
	}
}

// TestOnlySlurm: nothing is submitted anywhere else, and there is no list.
func TestOnlySlurm(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"test.muster.hcl": []byte("campaign \"here\" {}\nphase \"p\" {\n  job { command = \"true\" }\n}\n")},
		lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := planner.Input{Campaign: c, Now: now, Pools: []offer.Pool{{Backend: "local.local", CPUs: 4, Idle: 4, Total: 4, Price: offer.Price{Known: true}}}}
	p, _ := planner.Make(in)
	if lists := Of(p, in, "here", queues); len(lists) != 0 || p.Counts.Run != 1 {
		t.Errorf("%+v", lists)
	}
}
