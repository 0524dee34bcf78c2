package systemtest

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

// stormJobs is how many jobs of some seconds the storm has on two machines.
const stormJobs = 100

// stormCampaign is a campaign whose jobs write down on their machine that they started.
var stormCampaign = fmt.Sprintf(`
campaign "rented" {}
backend "vastai" "cloud" {
  image            = "pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime"
  gpu              = ["RTX 4090"]
  disk             = "20GB"
  max_usd_per_hour = 0.45
  reliability      = 0.95
  workdir          = "/root/work"
  max_boxes        = 2
  hold             = "10m"
  on_hold          = "release"
}
budget "money" { limits = { usd = 200 } }
phase "p" {
  grid { axes = { i = range(%d) } }
  place { candidates = [backend.vastai.cloud] }
  job {
    command = "echo start $MUSTER_TOKEN $MUSTER_RESTART >> /root/record; sleep 8; echo ${cell.i} > ${output.x}"
    resources {
      gpus     = 1
      walltime = "10m"
    }
    output "x" {
      path   = "out/${cell.i}"
      verify = "nonempty"
    }
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
`, stormJobs)

// TestNightlyRentedStorm kills muster, its provider and the queues of rented machines 200
// times, at random instants: two machines at most are rented at a time, each launch
// starts once, all results are here, and each machine is given back.
func TestNightlyRentedStorm(t *testing.T) {
	// Requirement: RES-01, SM-10
	needs.Nightly(t, "kills 200 processes of a rented campaign")
	kills := 200
	seed := time.Now().UnixNano()
	if s := os.Getenv("MUSTER_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseInt(s, 10, 64)
	}
	t.Logf("MUSTER_TEST_SEED=%d repeats this run", seed)
	draw := rand.New(rand.NewSource(seed))
	r := rentsAt(t, "vastai")
	w := r.world
	w.write("campaign.muster.hcl", stormCampaign)
	records := map[string]string{}
	killed := map[string]int{}
	for try := 0; ; try++ {
		if try == 500 {
			t.Fatalf("not done after %d tries", try)
		}
		cmd := w.command("apply", "-auto-approve")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		code, ended := 0, false
		for !ended {
			select {
			case err := <-done:
				code, ended = exitCode(err), true
			case <-time.After(time.Duration(draw.Intn(4000)) * time.Millisecond):
				if kills > 0 {
					role := []string{"engine", "provider", "agent"}[draw.Intn(3)]
					n := r.strike(draw, role)
					kills -= n
					killed[role] += n
				}
			}
			r.read(records)
			if n := r.alive(); n > 2 {
				t.Fatalf("%d machines are rented at once", n)
			}
		}
		if code == 0 && strings.Contains(out.String(), "Done: ") {
			break
		}
		if code != -1 && !(code == 1 && strings.Contains(out.String(), "killed by signal 9")) {
			t.Fatalf("try %d: exit %d\n%s", try, code, out.String())
		}
	}
	t.Logf("killed %v; %d machines", killed, len(r.truth()))
	if kills > 0 {
		t.Errorf("%d kills were left", kills)
	}
	starts := map[string]int{}
	for _, text := range records {
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			starts[line]++
		}
	}
	for line, n := range starts {
		if n != 1 {
			t.Errorf("%q %d times", line, n)
		}
	}
	if len(starts) < stormJobs {
		t.Errorf("%d starts were written down", len(starts))
	}
	w.want(0, fmt.Sprintf("%d files", stormJobs), "pull")
	r.age()
	w.want(0, "Destroyed", "destroy", "-auto-approve", "-allow-cancel")
	if n := r.alive(); n > 0 {
		t.Errorf("%d machines are left", n)
	}
}

// alive is how many machines are rented.
func (r *rented) alive() (n int) {
	for _, a := range r.truth() {
		if !a.Gone {
			n++
		}
	}
	return n
}

// read keeps what the jobs on each machine wrote down: a machine that is given back
// takes it along.
func (r *rented) read(records map[string]string) {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), "muster-boxes-*", "*", "root", "record"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && len(text) > len(records[path]) {
			records[path] = string(text)
		}
	}
}

// strike kills one process of a role, "agent" for what muster runs on machines, and
// returns how many that were.
func (r *rented) strike(draw *rand.Rand, role string) int {
	var victims []int
	if role == "agent" {
		victims = agents()
	} else {
		for _, p := range r.processes() {
			if p.role == role {
				victims = append(victims, p.pid)
			}
		}
	}
	if len(victims) == 0 || syscall.Kill(victims[draw.Intn(len(victims))], syscall.SIGKILL) != nil {
		return 0
	}
	return 1
}

// agents are muster's processes on machines: they are in other namespaces than this one.
func agents() (pids []int) {
	own, _ := os.Readlink("/proc/self/ns/mnt")
	for pid, line := range commandLines() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		if program, _, _ := strings.Cut(line, "\x00"); !strings.Contains(program, "muster") || state(proc) == "Z" {
			continue
		}
		if ns, err := os.Readlink(filepath.Join(proc, "ns", "mnt")); err == nil && ns != own {
			pids = append(pids, pid)
		}
	}
	return pids
}
