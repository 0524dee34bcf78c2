package systemtest

import (
	"encoding/json"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killCampaign has two phases joined cell by cell, and a last one that reads
// everything. Jobs write down each start and each end.
const killCampaign = `
campaign "kill" {}
backend "local" "local" { cpus = 8 }
grid "g" { axes = { i = range(40) } }
phase "first" {
  grid = grid.g
  job {
    command = "echo start $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD; sleep 0.${2 + cell.i % 5}; echo ${cell.i} > ${output.x}; echo end $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD"
    output "x" {
      path   = "first/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["killed", "node_failure", "unknown"]
    max_attempts = 100
  }
  breaker {
    same_error = 0
    share      = 1
  }
}
phase "second" {
  grid = grid.g
  job {
    command = "echo start $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD; sleep 0.3; cat ${input.x} > ${output.y}; echo end $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD"
    input "x" { from = phase.first.output.x }
    output "y" {
      path   = "second/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["killed", "node_failure", "unknown"]
    max_attempts = 100
  }
  breaker {
    same_error = 0
    share      = 1
  }
}
phase "last" {
  job {
    command = "echo start $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD; cat $(cat ${input_file.all}) > ${output.z}; echo end $MUSTER_ADDRESS $MUSTER_TOKEN $MUSTER_RESTART >> RECORD"
    input "all" { from_all = phase.second.output.y }
    output "z" {
      path   = "all"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["killed", "node_failure", "unknown"]
    max_attempts = 100
  }
}
`

// kills is how many times each mix of victims is killed at most, leastKills
// how many times all of them together at least.
const (
	kills      = 12
	leastKills = 50
)

func TestSystemKilledAtRandomInstants(t *testing.T) {
	// Requirement: RES-01, SUB-01
	seed := time.Now().UnixNano()
	if s := os.Getenv("MUSTER_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseInt(s, 10, 64)
	}
	t.Logf("MUSTER_TEST_SEED=%d repeats this run", seed)
	total, ran := 0, 0
	mixes := [][]string{{"engine"}, {"provider"}, {"queue"}, {"wrapper"}, {"engine", "provider", "queue"}, {"engine", "provider", "queue", "wrapper"}}
	for i, victims := range mixes {
		t.Run(strings.Join(victims, "+"), func(t *testing.T) {
			w := newWorld(t, killCampaign)
			total += w.killAndResume(rand.New(rand.NewSource(seed+int64(i))), victims)
			w.checkRecord()
			ran++
		})
	}
	if ran == len(mixes) && total < leastKills {
		t.Errorf("killed %d times, want at least %d", total, leastKills)
	}
}

// killAndResume applies until done, killing victims at random instants, and
// returns how many times it killed.
func (w *world) killAndResume(r *rand.Rand, victims []string) int {
	w.t.Helper()
	left := kills
	for try := range 200 {
		cmd := w.command("apply", "-auto-approve")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		code, ended := 0, false
		for !ended {
			select {
			case err := <-done:
				code, ended = exitCode(err), true
			case <-time.After(time.Duration(r.Intn(200)) * time.Millisecond):
				if left > 0 && w.kill(r, victims) > 0 {
					left--
				}
			}
		}
		switch {
		case code == 0:
			return kills - left
		case code == -1: // the engine was the victim
		case code == 1 && strings.Contains(out.String(), "killed by signal 9"): // a provider, before it could say hello
		default:
			w.t.Fatalf("try %d: exit %d\n%s", try, code, out.String())
		}
	}
	w.t.Fatal("not done after 200 tries")
	return 0
}

// kill ends processes with one of the roles, all of them or one at random, and
// returns how many.
func (w *world) kill(r *rand.Rand, roles []string) int {
	var victims []process
	for _, p := range w.processes() {
		if slices.Contains(roles, p.role) {
			victims = append(victims, p)
		}
	}
	if len(victims) > 1 && r.Intn(2) == 0 {
		victims = victims[r.Intn(len(victims)):][:1]
	}
	n := 0
	for _, p := range victims {
		if syscall.Kill(p.pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// checkRecord holds what jobs wrote down against the state: each launch
// started at most once, every job ended well at least once and never twice
// under one launch, and nothing is left to do.
func (w *world) checkRecord() {
	w.t.Helper()
	starts, ends := map[string]int{}, map[string]int{}
	byJob := map[string]int{}
	b, err := os.ReadFile(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.Fields(line)
		if len(f) != 4 {
			w.t.Fatalf("a torn line in the record: %q", line)
		}
		launch := f[2] + "/" + f[3]
		if f[0] == "start" {
			starts[launch]++
			byJob[f[1]]++
		} else {
			ends[launch]++
		}
	}
	for launch, n := range starts {
		if n != 1 {
			w.t.Errorf("launch %s started %d times", launch, n)
		}
	}
	w.checkState(byJob, ends)
	if out, code := w.run("plan", "-detailed-exitcode"); code != 0 {
		w.t.Errorf("there is something left to do (exit %d):\n%s", code, out)
	}
}

// recordedJob has the fields of a job in the state that the test reads.
type recordedJob struct {
	Address  string
	Status   string
	Attempts []struct {
		N       int
		Token   string
		Started time.Time
		Exit    *int
	}
}

func (w *world) checkState(starts, ends map[string]int) {
	w.t.Helper()
	const jobs = 40 + 40 + 1
	out, code := w.run("state", "pull")
	if code != 0 {
		w.t.Fatalf("the state does not load: %s", out)
	}
	var st struct{ Jobs []recordedJob }
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		w.t.Fatal(err)
	}
	if len(st.Jobs) != jobs {
		w.t.Errorf("the state has %d jobs, want %d", len(st.Jobs), jobs)
	}
	for _, j := range st.Jobs {
		if j.Status != "completed" {
			w.t.Errorf("%s is %s", j.Address, j.Status)
		}
		if n := starts[j.Address]; n > len(j.Attempts) || n == 0 {
			w.t.Errorf("%s started %d times, the state has %d attempts: %+v\n%s", j.Address, n, len(j.Attempts), j.Attempts, w.recordOf(j.Address))
		}
		last := j.Attempts[len(j.Attempts)-1]
		if last.Exit == nil || *last.Exit != 0 {
			w.t.Errorf("%s: the last attempt's exit is %v", j.Address, last.Exit)
		}
	}
	if len(ends) < jobs {
		w.t.Errorf("%d launches ended well, want at least %d", len(ends), jobs)
	}
}

// recordOf is the jobs' own record of one address.
func (w *world) recordOf(address string) string {
	b, _ := os.ReadFile(w.log)
	var out []string
	for _, line := range strings.Split(string(b), "\n") {
		if strings.Contains(line, " "+address+" ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
