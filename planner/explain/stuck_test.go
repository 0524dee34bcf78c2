package explain

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var checkedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func load(t *testing.T, text string) *lang.Campaign {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte("campaign \"test\" {}\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

// recorded takes a record as it is.
func recorded(j *state.Job) *state.Job { return j }

// phase is a phase over seeds 1 and 2 with an output of its own; more is beside its job, and
// input in it.
func phase(name, more, input string) string {
	reads := ""
	if input != "" {
		reads = " ${input.x}"
	}
	return `phase "` + name + `" {
  grid {
    axes = { seed = [1, 2] }
  }
  params = { lr = "1" }
  ` + more + `
  job {
    ` + input + `
    command = "train ${cell.seed} ${param.lr}` + reads + ` ${output.out}"
    output "out" {
      path = "out/` + name + `_${cell.seed}.txt"
    }
    resources {
      walltime = "1h"
    }
  }
}
`
}

func from(name string) string {
	return "input \"x\" {\n      from = phase." + name + ".output.out\n    }"
}

// last is a phase of one job that reads all that another made.
const last = `phase "c" {
  job {
    input "x" {
      from_all = phase.b.output.out
    }
    command = "report ${input_file.x} ${output.out}"
    output "out" {
      path = "out/c.txt"
    }
    resources {
      walltime = "1h"
    }
  }
}
`

// What waits for a job that failed is told with that job, over any number of
// phases; cells fed by others are not.
func TestStuckNamesWhatItWaitsFor(t *testing.T) {
	c := load(t, phase("a", "", "")+phase("b", "", from("a"))+last+phase("d", "depends_on = [phase.a]", ""))
	failed := &state.Job{Address: `phase.a["seed=2"]`, Phase: "a", Status: state.Failed}
	st := &state.State{Jobs: map[string]*state.Job{failed.Address: failed}}
	got := Stuck(c, st, recorded)
	want := map[string]string{`phase.b["seed=2"]`: failed.Address, `phase.c`: failed.Address, `phase.d["seed=1"]`: failed.Address, `phase.d["seed=2"]`: failed.Address}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for address, root := range want {
		if got[address] != root {
			t.Errorf("%s waits for %q, want %q", address, got[address], root)
		}
	}
	// What its queue gave up for that reason waits as before.
	given := &state.Job{Address: `phase.c`, Phase: "c", Status: state.Cancelled, Class: offer.Blocked}
	st.Jobs[given.Address] = given
	if got := Stuck(c, st, recorded); got[given.Address] != failed.Address {
		t.Errorf("%s was given up, and waits for %q", given.Address, got[given.Address])
	}
	failed.Status = state.Running
	if got := Stuck(c, st, recorded); len(got) != 0 {
		t.Errorf("nothing failed, and these are stuck: %v", got)
	}
}

// A smoke that failed stops its phase and all that follows, until a person
// overrides it.
func TestStuckKnowsTheSmoke(t *testing.T) {
	smoke := "smoke {\n    params = { lr = \"0\" }\n    walltime = \"10m\"\n    cells = \"first\"\n  }"
	c := load(t, phase("a", smoke, "")+phase("b", "", from("a")))
	st := &state.State{Jobs: map[string]*state.Job{}, Validations: map[string]state.Validation{
		"f": {Fingerprint: "f", Address: `phase.a["seed=1"]`, At: checkedAt, Message: "the loss diverged"},
	}}
	if got := Stuck(c, st, recorded); len(got) != 4 || got[`phase.b["seed=2"]`] != "the smoke of phase.a" {
		t.Errorf("got %v", got)
	}
	st.Overrides = []state.Override{{Address: "phase.a", Fingerprint: "f", At: checkedAt.Add(-time.Hour)}}
	if got := Stuck(c, st, recorded); len(got) != 0 {
		t.Errorf("after a word for just this smoke, by a clock that is behind: %v", got)
	}
	st.Overrides = []state.Override{{Address: "phase.a", At: checkedAt.Add(1)}}
	if got := Stuck(c, st, recorded); len(got) != 0 {
		t.Errorf("after an override: %v", got)
	}
}

// TestStuckNamesTheResume: jobs in a queue that a hold or a breaker keeps from starting, and
// those queued behind them, wait for the command that lets them go on; running jobs and jobs
// that are not queued yet do not.
func TestStuckNamesTheResume(t *testing.T) {
	c := load(t, phase("a", "", "")+phase("b", "", from("a"))+last+phase("d", "", ""))
	st := &state.State{Jobs: map[string]*state.Job{}}
	for address, status := range map[string]state.Status{`phase.a["seed=1"]`: state.Running, `phase.a["seed=2"]`: state.Queued,
		`phase.b["seed=1"]`: state.Queued, `phase.b["seed=2"]`: state.Submitting, `phase.d["seed=1"]`: state.Waiting} {
		st.Jobs[address] = &state.Job{Address: address, Phase: address[6:7], Status: status}
	}
	for _, v := range []struct {
		name string
		stop func()
		want map[string]string
	}{
		{"nothing", func() {}, map[string]string{}},
		{"a breaker", func() { st.Breakers = map[string]state.Breaker{"a": {Phase: "a", Reason: "x"}} }, map[string]string{`phase.a["seed=2"]`: "`muster resume phase.a`", `phase.b["seed=2"]`: "`muster resume phase.a`"}},
		{"a hold of one job", func() { st.Holds = []state.Hold{{Address: `phase.d["seed=1"]`}} }, map[string]string{`phase.d["seed=1"]`: "`muster resume 'phase.d[\"seed=1\"]'`"}},
		{"a hold of everything", func() { st.Holds = []state.Hold{{}} }, map[string]string{`phase.a["seed=2"]`: "`muster resume`", `phase.b["seed=1"]`: "`muster resume`",
			`phase.b["seed=2"]`: "`muster resume`", `phase.d["seed=1"]`: "`muster resume`"}},
	} {
		st.Breakers, st.Holds = nil, nil
		v.stop()
		if got := Stuck(c, st, recorded); !maps.Equal(got, v.want) {
			t.Errorf("%s: got %v, want %v", v.name, got, v.want)
		}
	}
}
