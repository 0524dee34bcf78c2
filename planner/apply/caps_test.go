package apply

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestDetachHandsOverAsFarAsItMay holds the rows of the table "with muster
// off": what a host queue keeps by itself is submitted, the first thing that
// it does not keep is named.
func TestDetachHandsOverAsFarAsItMay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		hcl    string
		price  string
		handed int
		first  string // "" = all is submitted
	}{
		{name: "an edge inside the backend", hcl: chain, handed: 10},
		{name: "a cap of the phase", hcl: strings.Replace(grid, "job {", "max_parallel = 2\n  job {", 1), handed: 6},
		{name: "a cap of the campaign", hcl: strings.Replace(grid, "phase", "campaign \"c\" { max_parallel = 2 }\nphase", 1), handed: 6},
		{name: "a breaker", hcl: strings.Replace(grid, "job {", "breaker { same_error = 2 }\n  job {", 1), handed: 6},
		{name: "retries", hcl: retrying(`"oom"`, ""), handed: 6},
		{name: "a smoke whose expect muster checks", hcl: gated, handed: 2, first: "phase.a waits for its smoke"},
		{name: "a gate without expect", hcl: strings.Replace(gated, "    expect {\n      condition = metric.loss < 10\n      message   = \"loss diverged\"\n    }\n", "", 1), handed: 6},
		{name: "a budget", hcl: budgeted, price: "1", handed: 2, first: `budget "b" does not cover`},
		{name: "files that are a set", hcl: globbed, handed: 2, first: "phase.b reads phase.a's glob"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.hcl)
			s.world.stall, s.world.price.USDPerHour = true, c.price
			s.conf = detached
			o := s.must(t.Context())
			if o.Stopped != progress.Detached || o.Submitted != c.handed || !strings.HasPrefix(o.First, c.first) || (o.First == "") != (c.first == "") {
				t.Errorf("handed over %d, then %q; want %d, %q (%+v)", o.Submitted, o.First, c.handed, c.first, o)
			}
			s.wantOff(c.first == "")
			if next := o.Next; next != "muster apply -once" {
				t.Errorf("next %q", next)
			}
		})
	}
}

// wantOff wants the plan of the campaign, from nothing, to say of what goes on
// with muster off what a submission does.
func (s *stage) wantOff(all bool) {
	s.t.Helper()
	plan := s.plan(s.load(), &state.State{Version: state.SchemaVersion}, &fake{world: s.world})
	off := slices.IndexFunc(plan.Notes, func(n string) bool { return strings.HasPrefix(n, "If you close muster now") })
	if off < 0 || strings.HasSuffix(plan.Notes[off], "finishes everything.") != all {
		s.t.Errorf("the plan says %q, and all is handed over: %t", plan.Notes, all)
	}
}

// TestDrivenSubmitsWhatIsReady: a running apply keeps a phase back until its producers are done,
// and the plan promises no more of it with muster closed.
func TestDrivenSubmitsWhatIsReady(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(globbed, "glob", "path", 1))
	s.world.stall = true
	ctx, stop := context.WithCancel(t.Context())
	s.conf = func(c *Config) {
		c.Progress = func(p progress.Snapshot) {
			if len(p.Phases) > 0 && p.Phases[0].Queued+p.Phases[0].Running == p.Phases[0].Total {
				stop()
			}
		}
	}
	_, _ = s.apply(ctx, nil)
	for _, j := range s.world.jobs {
		if !strings.HasPrefix(j.Address, "phase.a[") {
			t.Errorf("%s is submitted", j.Address)
		}
	}
	plan := s.plan(s.load(), &state.State{Version: state.SchemaVersion}, &fake{world: s.world})
	if off := slices.IndexFunc(plan.Notes, func(n string) bool {
		return strings.HasPrefix(n, "If you close muster now, submitted jobs finish; after `apply -detach`, ")
	}); off < 0 || len(s.world.jobs) == 0 {
		t.Errorf("%d jobs are submitted, and the plan says %q", len(s.world.jobs), plan.Notes)
	}
}

// TestDetachHandsOverWhatThrottlesKeep: what waits for its own array takes no
// room under a cap over several arrays, which a scheduler has not; without a
// arrayLimit no more is submitted than the cap.
func TestDetachHandsOverWhatThrottlesKeep(t *testing.T) {
	t.Parallel()
	named := func(name, limit string) string {
		hcl := strings.NewReplacer(`phase "a"`, `phase "`+name+`"`, "phase.a", "phase."+name, `path = "`, `path = "`+name).Replace(grid)
		if limit == "" {
			return hcl
		}
		return strings.Replace(hcl, "job {", "max_parallel = "+limit+"\n  job {", 1)
	}
	campaign := "campaign \"c\" { max_parallel = 4 }\n"
	backend := "backend \"local\" \"local\" { max_parallel = 4 }\n"
	for _, c := range []struct {
		name   string
		hcl    string
		handed int // of 6 of each phase
		first  string
	}{
		{"both throttles within the campaign's cap", campaign + named("a", "2") + named("b", "2"), 12, ""},
		{"within the backend's", backend + named("a", "2") + named("b", "2"), 12, ""},
		{"one throttle, and what it leaves", campaign + named("a", "3") + named("b", ""), 7, "max_parallel = 4 of the campaign is reached"},
		{"of the backend, too", backend + named("a", "3") + named("b", ""), 7, "backend.local.local takes no more jobs now"},
		{"a throttle above the cap", campaign + named("a", "5"), 4, "max_parallel = 4 of the campaign is reached"},
		{"no throttle", campaign + named("a", ""), 4, "max_parallel = 4 of the campaign is reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.hcl)
			s.world.stall, s.world.can = true, offer.Capabilities{Arrays: true, Dependencies: true}
			s.conf = detached
			for range 2 { // the next one finds as much there, and adds nothing
				o := s.must(t.Context())
				if n := len(s.world.jobs); n != c.handed || o.First != c.first {
					t.Errorf("handed over %d, then %q; want %d, %q (%+v)", n, o.First, c.handed, c.first, o)
				}
			}
			s.wantOff(c.first == "")
		})
	}
}

const globbed = `
phase "a" {
  grid { axes = { n = [1, 2] } }
  job {
    command = "touch ${output.o}/${cell.n}.txt"
    output "o" { glob = "parts${cell.n}/*.txt" }
  }
}
phase "b" {
  job {
    command = "cat $(cat ${input_file.all}) > ${output.o}"
    input "all" { from_all = phase.a.output.o }
    output "o" { path = "b.txt" }
  }
}`

func TestGlobInputsAreLookedUpWhereTheyLie(t *testing.T) {
	t.Parallel()
	s := newStage(t, globbed)
	s.world.lists = map[string][]string{
		s.dir + "/parts1/*.txt": {s.dir + "/parts1/z.txt", s.dir + "/parts1/b.txt"},
		s.dir + "/parts2/*.txt": {s.dir + "/parts2/a.txt"},
	}
	s.check(s.must(t.Context()), "end done=3 failed=0 held=0 blocked=0 left=0")
	for _, j := range s.world.jobs {
		if j.Address == "phase.b" {
			want := s.dir + "/parts1/b.txt " + s.dir + "/parts1/z.txt " + s.dir + "/parts2/a.txt"
			if got := strings.Join(j.Inputs[0].Paths, " "); got != want {
				t.Errorf("paths %s", got)
			}
		}
	}
}

func TestSmokesRunBesideOneAnotherIfToldTo(t *testing.T) {
	t.Parallel()
	for parallel, most := range map[string]int{"true": 2, "false": 1} {
		t.Run(parallel, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(gated, "cells  = \"ends\"", "cells  = \"ends\"\n    parallel = "+parallel, 1))
			smokes := 0
			s.world.result = func(j providers.Job, _ int) jobResult {
				if j.Smoke {
					n := 0
					for _, o := range s.world.jobs {
						if o.Smoke && o.status == "running" {
							n++
						}
					}
					smokes = max(smokes, n)
				}
				return jobResult{metrics: map[string]string{"loss": "1"}, takes: 5 * time.Millisecond}
			}
			s.check(s.must(t.Context()), "end done=4 failed=0 held=0 blocked=0 left=0")
			if smokes != most {
				t.Errorf("%d smokes at once, want %d", smokes, most)
			}
		})
	}
}

func TestSmokeWritesApartFromTheRun(t *testing.T) {
	// Requirement: ISO-02
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(providers.Job, int) jobResult { return jobResult{metrics: map[string]string{"loss": "1"}} }
	s.must(t.Context())
	for _, j := range s.world.jobs {
		if under := strings.HasPrefix(j.Outputs[0].Path, ".muster/smoke/a/"); under != j.Smoke {
			t.Errorf("smoke %v writes %s", j.Smoke, j.Outputs[0].Path)
		}
	}
}

func TestFailedPilotKeepsTheRestFromStarting(t *testing.T) {
	t.Parallel()
	s := newStage(t, gated)
	s.world.result = func(j providers.Job, _ int) jobResult {
		if j.Smoke {
			return jobResult{metrics: map[string]string{"loss": "1"}}
		}
		return jobResult{exit: 1, class: "nan", tail: "loss is nan"}
	}
	s.check(s.must(t.Context()), "end done=0 failed=1 held=0 blocked=3 left=0")
	if n := len(s.world.logs); n != 3 {
		t.Errorf("started %v", s.world.logs)
	}
}

func TestHoldOfAPhaseLetsTheOthersGoOn(t *testing.T) {
	// Requirement: ESC-02
	t.Parallel()
	s := newStage(t, grid+strings.Replace(one, `"a"`, `"z"`, 1))
	dir := t.TempDir()
	s.world.stall = true
	s.conf = func(c *Config) { c.Requests = dir }
	ended := make(chan progress.Outcome)
	go func() { ended <- s.must(t.Context()) }()
	count := func(held bool) (n int) {
		for _, j := range s.world.jobs {
			if !held || j.held {
				n++
			}
		}
		return n
	}
	s.world.until(func() bool { return count(false) == 7 })
	if _, err := request.Send(t.Context(), dir, request.Request{Verb: request.Hold, Who: "bob", Addresses: []string{"phase.a"}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	s.world.until(func() bool { return count(true) == 6 })
	s.world.mu.Lock()
	s.world.stall = false
	s.world.mu.Unlock()
	o := <-ended
	if o.Stopped != progress.Hold || o.Done != 1 || s.state().Jobs["phase.z"] == nil {
		t.Errorf("outcome %+v", o)
	}
	s.agree()
}
