package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var began = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

const (
	gb  = 1_000_000_000
	gib = 1 << 30
)

// site is a cluster with CPU and GPU partitions, priced by the hour.
func site() []offer.Pool {
	return []offer.Pool{
		{Backend: "slurm.x", Name: "gpu", Kind: offer.QueuePool, Word: "partition", CPUs: 64, GPUs: 8, GPUModel: "A100", Memory: 512 * gb, Price: offer.Price{Known: true, USDPerGPUHour: "2", SUPerCPUHour: "1"}},
		{Backend: "slurm.x", Name: "cpu", Kind: offer.QueuePool, Word: "partition", CPUs: 64, Memory: 256 * gb, Price: offer.Price{Known: true, SUPerCPUHour: "0.5"}},
		{Backend: "slurm.x", Name: "test", Kind: offer.QueuePool, Word: "partition", CPUs: 64, Testing: true, Price: offer.Price{Known: true}},
	}
}

// A world is a campaign and what its jobs did.
type world struct {
	t     *testing.T
	c     *lang.Campaign
	st    *state.State
	pools []offer.Pool
}

// load is a campaign of one phase, "train", with this body.
func load(t *testing.T, phases string) *world {
	t.Helper()
	dir := t.TempDir()
	src := "campaign \"test\" {}\nbackend \"slurm\" \"x\" {}\n" + phases
	if err := os.WriteFile(filepath.Join(dir, "c.muster.hcl"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"},
		"slurm": {Type: "slurm", Options: offer.Block{Attrs: []offer.Attr{{Name: "partition", Type: offer.String}}}}}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	return &world{t: t, c: c, st: state.New("test"), pools: site()}
}

func phase(name, job, rest string) string {
	return fmt.Sprintf("phase %q {\n  grid {\n    axes = { i = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }\n  }\n  place { candidates = [backend.slurm.x] }\n  job {\n    command = \"run ${cell.i}\"\n    options \"slurm\" { partition = \"gpu\" }\n%s\n  }\n%s}\n", name, job, rest)
}

func resources(lines ...string) string {
	return "    resources {\n      " + strings.Join(lines, "\n      ") + "\n    }"
}

// A deed describes one launch.
type deed struct {
	wait, run time.Duration
	class     string // "" when it completed
	usage     state.Usage
	pool      string
}

// did enters a job's launches; it completed if the last did.
func (w *world) did(name string, cell int, deeds ...deed) {
	for _, p := range w.c.Phases {
		if p.Name != name {
			continue
		}
		job := &state.Job{Address: p.Address(cell), Phase: name, Status: state.Completed}
		at := began
		for n, d := range deeds {
			u := d.usage
			u.Elapsed = d.run.Seconds()
			a := state.Attempt{N: n + 1, Backend: "slurm.x", Pool: "gpu", Queued: at, Started: at.Add(d.wait), Ended: at.Add(d.wait + d.run), Class: d.class, Usage: &u}
			if d.pool != "" {
				a.Pool = d.pool
			}
			at = a.Ended
			job.Attempts = append(job.Attempts, a)
			if job.Status, job.Class = state.Completed, d.class; d.class != "" {
				job.Status = state.Failed
			}
		}
		w.st.Jobs[job.Address] = job
	}
}

func (w *world) advice() Report {
	w.t.Helper()
	return Of(Input{Campaign: w.c, State: w.st, Pools: w.pools})
}

// TestRules: what history shows, the line to change, and what it saves.
func TestRules(t *testing.T) {
	// Requirement: OOM-05, RND-07
	hour := time.Hour
	plain := deed{run: hour, usage: state.Usage{MaxRSS: 9 * gb, CPU: 3600, GPUMaxMem: -1}}
	with := func(mod func(*deed)) deed { d := plain; mod(&d); return d }
	all := func(n int, d deed) func(*world) {
		return func(w *world) {
			for i := range n {
				w.did("train", i, d)
			}
		}
	}
	corner := func(w *world) {
		for i := range 10 {
			w.did("train", i, with(func(d *deed) { d.usage.MaxRSS = 7 * gb }), with(func(d *deed) { d.usage.MaxRSS = 7 * gb }))
		}
		w.did("train", 9, with(func(d *deed) { d.class, d.usage.MaxRSS = "oom_host", 8*gb }), plain)
	}
	for name, c := range map[string]struct {
		job, rest string
		did       func(*world)
		want      []string // "kind: before → after"
		why       string   // of the first
		saves     string   // of the first
	}{
		"64 GB asked for, 9 GB used": {
			resources(`memory = "64GB"`), "", all(5, plain),
			[]string{`memory: memory = "64GB" → memory = "11GB"`}, "64GB requested, but the most that any of 5 measured launches used was", ""},
		"memory in the unit it is written in": {
			resources(`memory = "64GiB"`), "", all(3, with(func(d *deed) { d.usage.MaxRSS = 9 * gib })),
			[]string{`memory: memory = "64GiB" → memory = "11GiB"`}, "", ""},
		"a comment on the line stays": {
			resources(`memory = "64GB" # as the old script had it`), "", all(3, plain),
			[]string{`memory: memory = "64GB" # as the old script had it → memory = "11GB" # as the old script had it`}, "", ""},
		"memory of a job that is next to nothing": {
			resources(`memory = "2GB"`), "", all(3, with(func(d *deed) { d.usage.MaxRSS = 2 << 20 })),
			[]string{`memory: memory = "2GB" → memory = "64MB"`}, "2GB requested, but the most that any of 3 measured launches used was 2MiB", ""},
		"little asked for":              {resources(`memory = "100MB"`), "", all(3, with(func(d *deed) { d.usage.MaxRSS = 2 << 20 })), nil, "", ""},
		"memory within twice":           {resources(`memory = "18GB"`), "", all(5, plain), nil, "", ""},
		"two launches are not evidence": {resources(`memory = "64GB"`), "", all(2, plain), nil, "", ""},
		"memory not measured":           {resources(`memory = "64GB"`), "", all(5, with(func(d *deed) { d.usage.MaxRSS = -1 })), nil, "", ""},
		"a value by cell": {
			resources(`memory = "${cell.i > 5 ? 80 : 64}GB"`), "", all(10, plain),
			[]string{`memory: memory = "${cell.i > 5 ? 80 : 64}GB" → 11GB`}, "80GB requested", ""},
		"one in two ran out of memory": {
			resources(`memory = "8GB"`), "", func(w *world) {
				for i := range 6 {
					w.did("train", i, with(func(d *deed) {
						d.usage.MaxRSS = 7 * gb
						if i%2 == 0 {
							d.class = "oom_host"
						}
					}))
				}
			},
			[]string{`memory: memory = "8GB" → memory = "10GB"`}, "3 of 6 launches ran out of memory", "cpu_hours 3 that the 3 killed launches took"},
		"all ran out of memory before it was measured": {
			resources(`memory = "200MiB"`), "", func(w *world) {
				for i := range 6 {
					w.did("train", i, with(func(d *deed) { d.usage.MaxRSS, d.class = 34<<20, "oom_host" }))
				}
			},
			[]string{`memory: memory = "200MiB" → memory = "400MiB"`}, "6 of 6 launches ran out of memory", ""},
		"a corner of the grid ran out of memory": {
			resources(`memory = "8GB"`), "", corner,
			[]string{"retry:  → retry {\n  on = [\"oom\"]\n  scale \"oom_host\" { memory = 1.5 }\n}"}, "1 of 20 launches ran out of memory, all where i=10", ""},
		"a corner, and a retry of other failures": {
			resources(`memory = "8GB"`), "  retry {\n    on = [\"preempted\"] # the market's\n  }\n", corner,
			[]string{"retry: on = [\"preempted\"] # the market's → on = [\"preempted\", \"oom\"] # the market's\nscale \"oom_host\" { memory = 1.5 }"}, "1 of 20 launches", ""},
		"a corner, and a retry that scales nothing": {
			resources(`memory = "8GB"`), "  retry {\n    on = [\"oom\"]\n  }\n", corner,
			[]string{`retry:  → scale "oom_host" { memory = 1.5 }`}, "1 of 20 launches", ""},
		"a corner, and a retry on one line": {
			resources(`memory = "8GB"`), "  retry { on = [\"oom\"] } # once\n", corner,
			[]string{"retry: retry { on = [\"oom\"] } # once → retry {\n  on = [\"oom\"]\n  scale \"oom_host\" { memory = 1.5 }\n} # once"}, "", ""},
		"a corner, and a retry of other failures on one line": {
			resources(`memory = "8GB"`), "  retry { on = [\"preempted\"] }\n", corner,
			[]string{"retry: retry { on = [\"preempted\"] } → retry {\n  on = [\"preempted\", \"oom\"]\n  scale \"oom_host\" { memory = 1.5 }\n}"}, "", ""},
		"a corner, and a scale for what is not retried": {
			resources(`memory = "8GB"`), "  retry {\n    on = [\"preempted\", ]\n    scale \"oom_host\" { memory = 2 }\n  }\n", corner,
			[]string{`retry: on = ["preempted", ] → on = ["preempted", "oom"]`}, "1 of 20 launches", ""},
		"a corner that gets more already": {
			resources(`memory = "8GB"`), "  retry {\n    on = [\"oom_host\"]\n    scale \"oom_host\" { memory = 2 }\n  }\n", corner, nil, "", ""},
		"a walltime of twelve hours for one": {
			resources(`walltime = "12h"`), "", all(4, plain),
			[]string{`walltime: walltime = "12h" → walltime = "1h30m"`}, "12h requested, but the longest of 4 jobs took 1h", "cpu_hours 63 of the 6 jobs left at most"},
		"ended at the walltime": {
			resources(`walltime = "1h"`), "", all(4, with(func(d *deed) { d.class = "walltime" })),
			[]string{`walltime: walltime = "1h" → walltime = "1h30m"`}, "4 of 4 launches were ended at their walltime of 1h", ""},
		"eight cores and one busy": {
			resources("cpus = 8"), "", all(5, plain),
			[]string{"cores: cpus = 8 → cpus = 2"}, "8 cores requested, but the most that any of 5 measured launches kept busy was 1", "service_units 30 of the 5 jobs left"},
		"GPUs that nothing was put on": {
			resources("gpus = 2", `walltime = "2h"`), "", all(10, with(func(d *deed) { d.usage.GPUMaxMem, d.usage.GPUSeconds = 0, 7200 })),
			[]string{"gpus: gpus = 2 → gpus = 0"}, "Each held 2 GPUs, and none of 10 measured launches had anything on them", "usd 40 of the 10 jobs that ran"},
		"GPUs whose use nobody measured": {resources("gpus = 2", `walltime = "2h"`), "", all(10, with(func(d *deed) { d.usage.GPUSeconds = 7200 })), nil, "", ""},
		"work without GPUs on a node that has them": {
			resources("cpus = 1", "gpus = 0"), "", all(4, plain),
			nil, "", ""},
		"preempted, and all was lost": {
			resources("gpus = 1", `walltime = "2h"`), "", func(w *world) {
				for i := range 4 {
					w.did("train", i, with(func(d *deed) { d.class = "preempted" }), plain)
				}
			},
			[]string{"retry:  → checkpoint { path = \"checkpoints/${cell.key}\" }"}, "4 of 8 launches were preempted", "usd 8 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", c.job, c.rest))
			c.did(w)
			if strings.Contains(name, "without GPUs") {
				w.pools = slices.DeleteFunc(w.pools, func(p offer.Pool) bool { return p.Name == "cpu" }) // nowhere else to go
			}
			if !strings.Contains(c.job, "gpus") { // a CPU phase on its own partition
				for i := range w.pools {
					w.pools[i].GPUs = 0
				}
			}
			r := w.advice()
			var got []string
			for _, p := range r.Proposals {
				to := p.Edit.After
				if to == "" {
					to = strings.Trim(p.Edit.Value, `"`)
				}
				got = append(got, p.Kind+": "+p.Edit.Before+" → "+to)
			}
			if len(c.want) == 1 && strings.HasSuffix(c.want[0], " → 11GB") && len(got) > 1 { // one for each value
				got = got[:1]
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("got  %q\nwant %q\nnotes %q", got, c.want, r.Notes)
			}
			if len(got) == 0 {
				return
			}
			first := r.Proposals[0]
			if !strings.Contains(first.Why, c.why) {
				t.Errorf("why %q", first.Why)
			}
			if saves := savings(first.Saves); !strings.Contains(saves, c.saves) {
				t.Errorf("saves %q", saves)
			}
			if first.Edit.File == "" || first.Edit.Line == 0 {
				t.Errorf("no line: %+v", first.Edit)
			}
		})
	}
}

// TestSmallerGPUs: what little was put on large devices fits on smaller ones.
func TestSmallerGPUs(t *testing.T) {
	used := deed{run: 2 * time.Hour, usage: state.Usage{MaxRSS: gb, GPUMaxMem: 4 * gib, GPUSeconds: 7200}}
	for name, c := range map[string]struct {
		job   string
		mod   func(*deed)
		pools func([]offer.Pool)
		want  string
		why   string
		saves string
	}{
		"80 GiB asked for, 4 used": {`gpu { memory = "80GiB" }`, nil, nil, `gpus: gpu { memory = "80GiB" } → gpu { memory = "5GiB" }`,
			"80GiB requested for each GPU, but the most that any of 5 measured launches had on one was 4GiB. partition small of slurm.x has GPUs of 16GiB.", "usd 15 of the 5 jobs left"},
		"80 GiB asked for, and no other has a price": {`gpu { memory = "80GiB" }`, nil, func(p []offer.Pool) { p[1].Price = p[0].Price }, `gpus: gpu { memory = "80GiB" } → gpu { memory = "5GiB" }`, "80GiB requested", ""},
		"none asked for, and 80 GiB given": {"", nil, nil, `place: options "slurm" { partition = "gpu" } → options "slurm" { partition = "small" }`,
			"The most that any of 5 measured launches had on one GPU was 4GiB of 80GiB; those of partition small of slurm.x have 16GiB.", "usd 15 of the 5 jobs left"},
		"none asked for, and the smaller has no price":                    {"", nil, func(p []offer.Pool) { p[1].Price = offer.Price{} }, "", "", ""},
		"none asked for, and the smaller has no price in service units":   {"", nil, func(p []offer.Pool) { p[1].Price.UnknownSU = true }, "", "", ""},
		"80 GiB asked for, and the smaller has no price in service units": {`gpu { memory = "80GiB" }`, nil, func(p []offer.Pool) { p[1].Price.SUPerCPUHour, p[1].Price.UnknownSU = "", true }, `gpus: gpu { memory = "80GiB" } → gpu { memory = "5GiB" }`, "80GiB requested", ""},
		"a model asked for":             {`gpu { models = ["A100"] }`, nil, nil, "", "", ""},
		"more than the smaller one has": {"", func(d *deed) { d.usage.GPUMaxMem = 14 * gib }, nil, "", "", ""},
		"not measured":                  {`gpu { memory = "80GiB" }`, func(d *deed) { d.usage.GPUMaxMem = -1 }, nil, "", "", ""},
		"out of its memory":             {`gpu { memory = "80GiB" }`, func(d *deed) { d.class = "oom_gpu" }, nil, "gpus:", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", resources("gpus = 1", `walltime = "3h"`, c.job), ""))
			w.pools = []offer.Pool{w.pools[0], w.pools[0]}
			w.pools[0].GPUMem, w.pools[1].GPUMem, w.pools[1].Name, w.pools[1].Price.USDPerGPUHour = 80*gib, 16*gib, "small", "0.5"
			if c.pools != nil {
				c.pools(w.pools)
			}
			d := used
			if c.mod != nil {
				c.mod(&d)
			}
			for i := range 5 {
				w.did("train", i, d)
			}
			got, why, saves := "", "", ""
			for _, p := range w.advice().Proposals {
				got, why, saves = got+p.Kind+": "+p.Edit.Before+" → "+p.Edit.After, p.Why, savings(p.Saves)
			}
			if c.want == "gpus:" { // another proposal, of which no figure is made
				if !strings.HasPrefix(got, "gpus:") || strings.Contains(got, "5GiB") {
					t.Errorf("got %q", got)
				}
				return
			}
			if got != c.want || !strings.HasPrefix(why, c.why) || !strings.HasPrefix(saves, c.saves) || (saves == "") != (c.saves == "") {
				t.Errorf("got  %q\nwant %q\nwhy %q\nsaves %q", got, c.want, why, saves)
			}
		})
	}
}

func savings(all []Saving) string {
	var out []string
	for _, s := range all {
		text := s.Unit + " " + s.Amount + " " + s.Of
		if s.AtMost {
			text += " at most"
		}
		if s.Estimated {
			text += " *"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestMoveOff: CPU steps on GPU nodes are moved to the partition without.
func TestMoveOff(t *testing.T) {
	// Requirement: RND-10
	w := load(t, phase("train", resources("cpus = 4", `walltime = "2h"`), ""))
	for i := range 4 {
		w.did("train", i, deed{run: time.Hour, usage: state.Usage{MaxRSS: gb, CPU: 4 * 3600, GPUMaxMem: -1}})
	}
	r := w.advice()
	if len(r.Proposals) != 1 {
		t.Fatalf("%+v", r)
	}
	p := r.Proposals[0]
	if p.Kind != "place" || p.Edit.Before != `options "slurm" { partition = "gpu" }` || p.Edit.After != `options "slurm" { partition = "cpu" }` {
		t.Errorf("%+v", p)
	}
	if saves := savings(p.Saves); saves != "service_units 12 of the 6 jobs left" { // 6 jobs × 4 cores × 1 h × (1 − 0.5)
		t.Errorf("saves %q", saves)
	}
}

// TestWhatNobodyPricedSavesNothing: CPU steps are moved to a partition whose price
// is known before one whose is not, and what that saves is told as far as it is.
func TestWhatNobodyPricedSavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		pools []offer.Pool
		to    string
		saves string
	}{
		"no other":   {[]offer.Pool{{Name: "bare"}}, "bare", ""},
		"one other":  {[]offer.Pool{{Name: "bare"}, {Name: "cpu", Price: offer.Price{SUPerCPUHour: "0.5"}}}, "cpu", "service_units 12 of the 6 jobs left"},
		"by a guess": {[]offer.Pool{{Name: "bare"}, {Name: "cpu", Price: offer.Price{SUPerCPUHour: "0.5", Estimated: true}}}, "cpu", "service_units 12 of the 6 jobs left *"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", resources("cpus = 4", `walltime = "2h"`), ""))
			w.pools = w.pools[:1]
			for _, p := range c.pools {
				p.Backend, p.Word, p.CPUs, p.Memory, p.Price.Known, p.Price.UnknownSU = "slurm.x", "partition", 64, 256*gb, true, p.Price.SUPerCPUHour == ""
				w.pools = append(w.pools, p)
			}
			for i := range 4 {
				w.did("train", i, deed{run: time.Hour, usage: state.Usage{MaxRSS: gb, CPU: 4 * 3600, GPUMaxMem: -1}})
			}
			r := w.advice()
			if len(r.Proposals) != 1 {
				t.Fatalf("%+v", r)
			}
			if p := r.Proposals[0]; !strings.Contains(p.Edit.After, c.to) || savings(p.Saves) != c.saves {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestASchedulersTurnIsNoWait: a wait of seconds is no reason to split jobs,
// however short they are, unless the policy calls it long.
func TestASchedulersTurnIsNoWait(t *testing.T) {
	for name, c := range map[string]struct {
		wait, run time.Duration
		policy    string
		want      bool
	}{
		"seconds":                      {10 * time.Second, 8 * time.Second, "", false},
		"minutes":                      {9 * time.Minute, time.Minute, "", false},
		"long enough to be missed":     {10 * time.Minute, time.Minute, "", true},
		"and yet less than they run":   {10 * time.Minute, 11 * time.Minute, "", false},
		"what the policy calls a wait": {3 * time.Minute, time.Hour, "policy { long_wait = \"2m\" }", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, c.policy+"\n"+phase("train", resources("gpus = 8", `walltime = "3h"`), ""))
			for i := range 4 {
				w.did("train", i, deed{wait: c.wait, run: c.run, usage: state.Usage{GPUMaxMem: gb, GPUSeconds: 1}})
			}
			if got := slices.ContainsFunc(w.advice().Proposals, func(p Proposal) bool { return p.Kind == "split" }); got != c.want {
				t.Errorf("split: %v", got)
			}
		})
	}
}

// TestSplit: jobs on eight GPUs that wait longer than they run are split where
// smaller ones wait less, and left alone where these do not.
func TestSplit(t *testing.T) {
	// Requirement: RND-04
	for name, c := range map[string]struct {
		small time.Duration // wait of the jobs on one GPU; 0 = there are none
		want  string
	}{
		"smaller ones start soon":      {20 * time.Minute, "wait_hours 58 of the 6 jobs left"}, // 6 × (10 h − 20 min)
		"smaller ones wait as long":    {9 * time.Hour, ""},
		"what these wait nobody knows": {0, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", resources("gpus = 8", `walltime = "3h"`), "")+phase("eval", resources("gpus = 1", `walltime = "3h"`), ""))
			for i := range 4 {
				w.did("train", i, deed{wait: 10 * time.Hour, run: 2 * time.Hour, usage: state.Usage{GPUMaxMem: gb, GPUSeconds: 1}})
				if c.small > 0 {
					w.did("eval", i, deed{wait: c.small, run: 2 * time.Hour, usage: state.Usage{GPUMaxMem: gb, GPUSeconds: 1}})
				}
			}
			i := slices.IndexFunc(w.advice().Proposals, func(p Proposal) bool { return p.Kind == "split" })
			if i < 0 {
				if c.want != "" {
					t.Fatal("no proposal to split")
				}
				return
			}
			p := w.advice().Proposals[i]
			if p.Edit.After != "gpus = 4" || !strings.Contains(p.Why, "waited 10h and ran 2h") || !strings.Contains(p.Why, "raise walltime from 3h to 5h30m") {
				t.Errorf("%+v", p)
			}
			if c.want == "unknown" {
				if len(p.Saves) != 0 || !strings.Contains(p.Why, "is unknown") {
					t.Errorf("%+v", p)
				}
			} else if saves := savings(p.Saves); saves != c.want {
				t.Errorf("saves %q", saves)
			}
		})
	}
}

// TestHistory: CPU and GPU work apart, and queue, run and retry time.
func TestHistory(t *testing.T) {
	// Requirement: RND-04, RND-06
	w := load(t, phase("prep", resources("cpus = 2"), "")+phase("train", resources("gpus = 1", `memory = "4GB"`), ""))
	w.did("prep", 0, deed{wait: time.Hour, run: time.Minute})
	w.did("train", 0, deed{wait: time.Hour, run: time.Hour, class: "oom_gpu"}, deed{wait: time.Minute, run: 2 * time.Hour, usage: state.Usage{MaxRSS: gb, GPUMaxMem: -1}})
	r := w.advice()
	if r.Launches != 3 || len(r.Phases) != 2 || len(r.Proposals) != 0 || len(r.Notes) != 2 {
		t.Fatalf("%+v", r)
	}
	prep, train := r.Phases[0], r.Phases[1]
	if prep.GPU || !train.GPU || train.Launches != 2 || train.Failed != 1 || train.Done != 1 || train.Jobs != 10 {
		t.Errorf("%+v", r.Phases)
	}
	if m := train.Median; m.Queue != time.Hour || m.Retry != time.Hour+time.Minute || m.Run != 2*time.Hour {
		t.Errorf("%+v", m)
	}
	if got := fmt.Sprint(train.Uses); !strings.Contains(got, "memory 4e+09 4e+09 1e+09 1e+09 1") {
		t.Errorf("%s", got)
	}
}

// TestSegmentsAreNoFailures: launches whose work the next one went on with are told
// apart from those that came to nothing, and a job's work is all of them together:
// nobody is advised to ask for the time of the last.
func TestSegmentsAreNoFailures(t *testing.T) {
	w := load(t, phase("train", resources(`walltime = "30h"`), "  checkpoint {\n    path = \"ck\"\n  }\n"))
	for i := range 10 {
		w.did("train", i, deed{wait: time.Hour, run: 10 * time.Hour, class: "walltime", pool: "cpu"}, deed{wait: time.Hour, run: 10 * time.Hour, class: "walltime", pool: "cpu"}, deed{wait: time.Hour, run: 5 * time.Hour, pool: "cpu"})
	}
	r := w.advice()
	if len(r.Phases) != 1 || len(r.Proposals) != 0 {
		t.Fatalf("%+v", r)
	}
	h := r.Phases[0]
	if h.Launches != 30 || h.Segments != 20 || h.Failed != 0 {
		t.Errorf("%d launches, %d segments, %d failed", h.Launches, h.Segments, h.Failed)
	}
	if m := h.Median; m.Queue != 3*time.Hour || m.Run != 25*time.Hour || m.Retry != 0 {
		t.Errorf("%+v", m)
	}
	for _, u := range h.Uses {
		if u.What == "walltime" && u.Most != float64(25*time.Hour) {
			t.Errorf("%+v", u)
		}
	}
}

// TestAskedForByTheCell: where the jobs of a phase ask for different amounts the
// history has the least beside the most.
func TestAskedForByTheCell(t *testing.T) {
	w := load(t, phase("sizes", resources(`memory = cell.i < 3 ? "12GB" : "64GB"`), ""))
	for cell := range 4 {
		w.did("sizes", cell, deed{run: time.Minute, usage: state.Usage{MaxRSS: gb, GPUMaxMem: -1}})
	}
	if u := w.advice().Phases[0].Uses[0]; u.What != "memory" || u.Asked != 64*gb || u.Least != 12*gb {
		t.Errorf("%+v", u)
	}
	// Those that did not run ask for nothing here.
	w = load(t, phase("sizes", resources(`memory = cell.i < 3 ? "12GB" : "64GB"`), ""))
	w.did("sizes", 9, deed{run: time.Minute, usage: state.Usage{MaxRSS: gb, GPUMaxMem: -1}})
	if u := w.advice().Phases[0].Uses[0]; u.Asked != 64*gb || u.Least != 64*gb {
		t.Errorf("%+v", u)
	}
}

// TestFailing: launches that fail for a cause that no resource cures are noted, with the
// time that retries took; those that another rule follows, or few, are not.
func TestFailing(t *testing.T) {
	for name, c := range map[string]struct {
		class string
		fail  int // of ten jobs, each once and then well
		want  string
	}{
		"half of them": {"flaky", 5, "phase.train: 5 of 15 launches failed, most with flaky, and ran 5h; retries took 33 % of the time from submission to end. More resources"},
		"one":          {"flaky", 1, ""},
		"for memory":   {"oom_host", 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", resources("gpus = 1"), ""))
			well := deed{run: time.Hour, usage: state.Usage{GPUMaxMem: -1}}
			for i := range 10 {
				deeds := []deed{well}
				if i < c.fail {
					deeds = []deed{{run: time.Hour, class: c.class, usage: state.Usage{GPUMaxMem: -1}}, well}
				}
				w.did("train", i, deeds...)
			}
			r := w.advice()
			if got := strings.Join(r.Notes, "\n"); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("%q", got)
			}
			if i := slices.IndexFunc(r.Phases[0].Uses, func(u Use) bool { return u.What == "gpu memory" }); i < 0 || r.Phases[0].Uses[i].Measured != 0 {
				t.Errorf("that nobody measured GPU memory is not told: %+v", r.Phases[0].Uses)
			}
		})
	}
}
