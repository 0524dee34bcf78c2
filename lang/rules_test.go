package lang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
)

// rules are the blocks of one phase about repeated launches, and their diagnostics.
type rules struct {
	reader     *rerunReader
	failures   []Failure
	retry      Retry
	breaker    Breaker
	checkpoint *Checkpoint
	lifecycle  Lifecycle
	said       diag.List
}

// readRules reads the blocks of a phase and those beside it.
func readRules(t *testing.T, blocks string, beside ...string) rules {
	t.Helper()
	r := &decode.Reader{Source: &syntax.Source{Files: map[string]*hcl.File{}}}
	r.Add("c.muster.hcl", []byte(strings.Join(beside, "\n")+"\nphase \"p\" {\n  job { command = \"x\" }\n"+blocks+"\n}\n"))
	top := r.Blocks()
	readVariables(r, top, LoadOptions{Dir: t.TempDir()})
	var out rules
	out.reader, out.failures = newRerunReader(r, top.All("failure"))
	p := top.One("phase")
	out.retry, out.breaker = out.reader.Retry(p.One("retry")), out.reader.Breaker(p.One("breaker"))
	out.checkpoint, out.lifecycle = out.reader.Checkpoint(p.One("checkpoint")), out.reader.Lifecycle(p.One("lifecycle"))
	out.said = append(r.Sure, r.Perhaps...)
	return out
}

// TestWithoutBlocks: the defaults are those of the design.
func TestWithoutBlocks(t *testing.T) {
	t.Parallel()
	p := readRules(t, "")
	if len(p.said) > 0 {
		t.Fatal(p.said.Err())
	}
	if p.retry.Max != 1 || len(p.retry.On) > 0 || p.breaker != (Breaker{SameError: 3, Share: 0.15}) || p.checkpoint != nil || p.lifecycle.PreventRerunSet || len(p.failures) > 0 {
		t.Errorf("%+v", p)
	}
	p = readRules(t, "retry { on = [\"oom\"] }\n breaker {}\n checkpoint { path = \"ck\" }\n lifecycle {}")
	if len(p.said) > 0 || p.retry.Max != 3 || p.breaker != (Breaker{SameError: 3, Share: 0.15}) || p.checkpoint.Every(1) != 0 || p.checkpoint.Signal != "" || p.lifecycle.PreventRerun {
		t.Errorf("with empty blocks: %+v", p)
	}
}

// TestIntervals: what is stated, and Young's rule.
func TestIntervalsOfSeveralNodes(t *testing.T) {
	// Requirement: SPT-03
	t.Parallel()
	for nodes, want := range map[int]time.Duration{0: 2277 * time.Second, 1: 2277 * time.Second, 4: 1138 * time.Second, 512: 101 * time.Second} { // sqrt(2 · 86400/n · 30)
		p := readRules(t, "checkpoint {\n path = \"ck\"\n interval = \"auto\"\n mtbf = \"24h\"\n write_time = \"30s\"\n}")
		if got := p.checkpoint.Every(nodes); got != want {
			t.Errorf("%d nodes: every %v, want %v", nodes, got, want)
		}
		if p := readRules(t, "checkpoint {\n path = \"ck\"\n interval = \"30m\"\n}"); p.checkpoint.Every(nodes) != 30*time.Minute {
			t.Errorf("%d nodes: a stated interval changed to %v", nodes, p.checkpoint.Every(nodes))
		}
	}
}

func TestIntervals(t *testing.T) {
	// Requirement: SPT-01
	t.Parallel()
	for src, want := range map[string]time.Duration{
		`interval = "30m"`: 30 * time.Minute,
		`interval = "auto", mtbf = "24h", write_time = "30s"`:                   2277 * time.Second, // sqrt(2 · 86400 · 30) = 2276.8
		`interval = "auto", mtbf = "1h", write_time = "0.5s"`:                   60 * time.Second,
		`interval = "auto", mtbf = "2s", write_time = "0.25s"`:                  time.Second,
		`interval = "auto", mtbf = "8h", write_time = "1m", max_loss = "1h"`:    1859 * time.Second,
		`interval = "30m", mtbf = "8h", write_time = "1m", max_loss = "30m"`:    30 * time.Minute,
		`interval = "10m", signal = "SIGUSR1", grace = "2m", write_time = "1s"`: 10 * time.Minute,
	} {
		p := readRules(t, "checkpoint {\n path = \"ck\"\n "+strings.ReplaceAll(src, ", ", "\n ")+"\n}")
		if len(p.said) > 0 || p.checkpoint.Every(1) != want {
			t.Errorf("%s: every %v, want %v (%v)", src, p.checkpoint.Every(1), want, p.said.Err())
		}
	}
}

// TestSteps: the interval in steps of the work.
func TestSteps(t *testing.T) {
	// Requirement: SPT-02
	t.Parallel()
	for src, want := range map[string]int64{
		`interval = "auto", mtbf = "3h", write_time = "30s", step_time = "2s"`: 400, // 805 s, 402 steps
		`interval = "10m"`:                      0,
		`interval = "10m", step_time = "7s"`:    85,
		`interval = "10m", step_time = "6s"`:    100,
		`interval = "10m", step_time = "0.5s"`:  1200,
		`interval = "10m", step_time = "0.48s"`: 1200,
		`interval = "10m", step_time = "11m"`:   1,
	} {
		p := readRules(t, "checkpoint {\n path = \"ck\"\n "+strings.ReplaceAll(src, ", ", "\n ")+"\n}")
		if len(p.said) > 0 || p.checkpoint.Steps(1) != want {
			t.Errorf("%s: %d steps, want %d (%v)", src, p.checkpoint.Steps(1), want, p.said.Err())
		}
	}
	if p := readRules(t, "checkpoint {\n path = \"ck\"\n step_time = \"2s\"\n}"); p.said.Err() == nil || !strings.Contains(p.said.Err().Error(), "Steps need an interval") {
		t.Errorf("%v", p.said)
	}
}

func TestSignals(t *testing.T) {
	// Requirement: WT-04
	t.Parallel()
	for src, want := range map[string]Checkpoint{
		``:                                   {},
		`signal = "USR1"`:                    {Signal: "USR1", Grace: time.Minute},
		`signal = "sigterm"`:                 {Signal: "TERM", Grace: time.Minute},
		"signal = \"USR2\"\n grace = \"5m\"": {Signal: "USR2", Grace: 5 * time.Minute},
	} {
		p := readRules(t, "checkpoint {\n path = \"ck\"\n "+src+"\n}")
		if len(p.said) > 0 || p.checkpoint.Signal != want.Signal || p.checkpoint.Grace != want.Grace {
			t.Errorf("%q: %+v (%v)", src, p.checkpoint, p.said.Err())
		}
	}
}

// TestWrongRules: what cannot be meant is told once, with what to write.
func TestWrongRules(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`checkpoint { path = " " }`:                                                                    "The path is empty",
		"checkpoint {\n path = \"c\"\n interval = \"0s\"\n}":                                           "An interval is more than nothing",
		"checkpoint {\n path = \"c\"\n interval = \"auto\"\n}":                                         `write mtbf = "24h" and write_time = "30s"`,
		"checkpoint {\n path = \"c\"\n interval = \"auto\"\n mtbf = \"24h\"\n}":                        "An automatic interval needs two times",
		"checkpoint {\n path = \"c\"\n interval = \"auto\"\n mtbf = \"1s\"\n write_time = \"0.1s\"\n}": `447.214ms. mtbf is how long a job runs between failures ("24h"), write_time how long one checkpoint takes to write`,
		"checkpoint {\n path = \"c\"\n interval = \"2h\"\n max_loss = \"1h\"\n}":                       "max_loss allows 1h. Shorten interval to 1h.",
		"checkpoint {\n path = \"c\"\n signal = \"USR3\"\n}":                                           `"USR3" is not one of USR1, USR2, TERM`,
		`retry {}`:                "A retry block needs on =",
		`retry { on = [] }`:       "The list is empty, so nothing would be tried again",
		`retry { on = ["oomm"] }`: `There is no failure class "oomm"; did you mean "oom"?`,
		"retry {\n on = [\"oom\"]\n max_attempts = 0\n}":                    "At least 1 is needed, 0 was found",
		"retry {\n on = [\"oom\"]\n max_attempts = 1e9\n}":                  "At most 10000 launches are possible",
		"retry {\n on = [\"nan\"]\n scale \"walltime\" { walltime = 2 }\n}": `The class "walltime" is not in retry.on`,
		`breaker { share = 2 }`:                                             "share",
		`lifecycle { ignore_changes = [comand] }`:                           `ignore_changes cannot name "comand"`,
	} {
		p := readRules(t, src)
		if len(p.said) != 1 || !strings.Contains(p.said[0].Summary+" "+p.said[0].Detail, want) || p.said[0].Subject == nil {
			t.Errorf("%s\nwant %s\ngot  %v", src, want, p.said)
		}
	}
}

// TestOwnFailures: a campaign's own catalogue adds classes that all blocks may
// name, and says of what is muster's own that it is.
func TestOwnFailures(t *testing.T) {
	t.Parallel()
	p := readRules(t, `retry { on = ["license_lost"] }`, `failure "license_lost" {
  match  = "no license"
  action = "retry"
}
failure "cuda_lost" {
  exit_codes = [77]
  class      = "gpu_lost"
}`)
	if len(p.said) > 0 || len(p.failures) != 2 || p.failures[0].Class != "license_lost" || p.failures[1].Class != "gpu_lost" || !slices.Equal(p.failures[1].ExitCodes, []int{77}) {
		t.Errorf("%v, %+v", p.said.Err(), p.failures)
	}
	for src, want := range map[string]string{
		`failure "oom_gpu" { match = "x" }`:                          `to assign its pattern to the built-in class, write class = "oom_gpu"`,
		"failure \"mine\" {\n match = \"x\"\n class = \"oom\"\n}":    `"oom" means three classes`,
		`failure "mine" { hint = "x" }`:                              "A failure needs a sign",
		"failure \"mine\" {\n match = \"x\"\n class = \"a b\"\n}":    `"a b" cannot name a failure class`,
		`failure "mine" { match = "(" }`:                             "match",
		"failure \"mine\" {\n match = \"x\"\n action = \"again\"\n}": "again",
	} {
		p := readRules(t, "", src)
		if len(p.said) != 1 || !strings.Contains(p.said[0].Summary+" "+p.said[0].Detail, want) {
			t.Errorf("%s\nwant %s\ngot  %v", src, want, p.said)
		}
	}
}

func TestIgnores(t *testing.T) {
	t.Parallel()
	l := readRules(t, `lifecycle { ignore_changes = [env.HOST, setup, params.note] }`)
	if len(l.said) > 0 {
		t.Fatal(l.said.Err())
	}
	for field, want := range map[string]bool{"env.HOST": true, "env.HOSTS": false, "env": false, "setup": true, "param.note": true, "param.x": false, "command": false} {
		if got := l.lifecycle.Ignores(field); got != want {
			t.Errorf("%s: %v", field, got)
		}
	}
	l = readRules(t, `lifecycle { ignore_changes = [command] }`)
	if !l.lifecycle.Ignores("command") || !l.lifecycle.Ignores("command[2]") {
		t.Error("a command's words are not the command")
	}
}
