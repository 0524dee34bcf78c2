package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

// oldest is the commit whose campaigns every later version finishes: its state,
// its spool, and jobs that its queue is still running.
const oldest = "3f7ce3a"

// oldBuild builds it into bin, once for all tests and runs: it takes as long as
// several tests.
var oldBuild = sync.OnceValues(func() (string, error) {
	build := exec.Command("flock", "../../bin", "sh", "-ec", `
to=$(cd ../../bin; pwd)/oldest-$1
[ ! -e "$to" ] || exit 0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
git -C ../.. archive "$1" | tar x -C "$dir"
cd "$dir"
go run ./cmd/muster-host/pack providers/ssh/bin
CGO_ENABLED=0 go build -trimpath -o "$to.part" ./cmd/muster
mv "$to.part" "$to"`, "build", oldest)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", oldest, err, out)
	}
	return filepath.Abs("../../bin/oldest-" + oldest)
})

// oldBinary is muster as it was at oldest, built from this repository's history.
func oldBinary(t *testing.T) string {
	t.Helper()
	needs.System(t, "builds an old version")
	if exec.Command("git", "-C", "../..", "cat-file", "-e", oldest+"^{commit}").Run() != nil {
		needs.Absent(t, "the history of this repository does not hold ", oldest)
	}
	bin, err := oldBuild()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// aged is the world as the oldest version has it. Whatever that version leaves
// running ends with the test.
func (w *world) aged(old string) *world {
	past := *w
	past.bin = filepath.Join(filepath.Dir(w.bin), "old", "muster")
	program.Copy(w.t, old, past.bin)
	w.t.Cleanup(past.end)
	return &past
}

// killAll ends every process with one of the roles.
func (w *world) killAll(roles ...string) {
	for _, p := range w.processes() {
		if slices.Contains(roles, p.role) {
			kill(p.pid)
		}
	}
}

// upgraded has a smoke, jobs behind others, a job that fails once and one that
// nothing covers. Jobs wait until FOLDER has a file go.
const upgraded = `
campaign "upgraded" {}
BACKEND
grid "g" { axes = { i = range(8) } }
phase "first" {
  grid = grid.g
  smoke { walltime = "1m" }
  place { candidates = [backend.PLACE] }
  job {
    command = "echo first-${cell.i} >> RECORD; until [ -e FOLDER/go ]; do sleep 0.05; done; if [ ${cell.i} = 3 ] && [ ! -e FOLDER/failed ]; then touch FOLDER/failed; exit 9; fi; echo ${cell.i} > ${output.x}"
    output "x" {
      path   = "out/first-${cell.i}"
      verify = "nonempty"
    }
    resources {
      cpus     = 1
      walltime = "10m"
    }
  }
  retry {
    on           = ["unknown"]
    max_attempts = 2
  }
}
phase "second" {
  grid  = grid.g
  place { candidates = [backend.PLACE] }
  job {
    command = "echo second-${cell.i} >> RECORD; cat ${input.x} ${input.x} > ${output.y}"
    input "x" { from = phase.first.output.x }
    output "y" {
      path   = "out/second-${cell.i}"
      verify = "nonempty"
    }
    resources {
      cpus     = 1
      walltime = "10m"
    }
  }
}
`

// finished holds that every job ran once, but for what was to be retried and
// the smoke, which runs the first cell beside it.
func finished(t *testing.T, lines []string) {
	t.Helper()
	starts := map[string]int{}
	for _, line := range lines {
		starts[line]++
	}
	for i := range 8 {
		for _, phase := range []string{"first", "second"} {
			name, want := fmt.Sprintf("%s-%d", phase, i), 1
			if name == "first-0" || name == "first-3" {
				want = 2
			}
			if starts[name] != want {
				t.Errorf("%s started %d times, want %d", name, starts[name], want)
			}
		}
	}
}

// TestSystemUpgrade: a campaign that the oldest version began is finished by this
// one, and nothing runs twice.
func TestSystemUpgrade(t *testing.T) {
	old := oldBinary(t)
	for _, c := range []struct {
		name string
		harm func(w, past *world)
	}{
		{"its queue is running", func(w, past *world) {}},
		{"its queue was killed", func(w, past *world) { past.killAll("queue", "engine", "provider") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "")
			w.write("campaign.muster.hcl", strings.NewReplacer("RECORD", w.log, "FOLDER", w.dir,
				"BACKEND", "backend \"local\" \"l\" { cpus = 3 }", "PLACE", "local.l").Replace(upgraded))
			past := w.aged(old)
			w.write("go", "")
			past.want(0, "", "apply", "-auto-approve", "-target=phase.first[\"i=0\"]")
			os.Remove(filepath.Join(w.dir, "go"))
			past.want(0, "", "apply", "-auto-approve", "-detach")
			w.started(4)
			c.harm(w, past)
			w.want(0, "running", "status", "-refresh")
			w.want(0, "0 to re-run", "plan")
			w.write("go", "")
			w.want(0, "Done: 16 of 16 jobs done and verified", "apply", "-auto-approve")
			record, _ := os.ReadFile(w.log)
			finished(t, strings.Fields(string(record)))
			w.want(0, "Nothing to do", "plan", "-detailed-exitcode")
		})
	}
}

// TestSystemSSHUpgrade: the same, where the queue of the oldest version is on a
// host.
func TestSystemSSHUpgrade(t *testing.T) {
	old := oldBinary(t)
	h := lab.Hosts(t, 1)[0]
	for _, c := range []struct{ name, harm string }{
		{"its queue is running", "true"},
		{"its queue was killed", "pkill -KILL -f 'muster-host-[^ ]* queue'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRemote(t, []*lab.Host{h}, "")
			r.write("campaign.muster.hcl", r.paths(strings.NewReplacer(
				"BACKEND", "backend \"ssh\" \"h\" {\n  host    = \"h1\"\n  workdir = \"FOLDER/work\"\n  cpus    = 3\n}", "PLACE", "ssh.h").Replace(upgraded)))
			past := r.aged(old)
			r.put("go", "")
			past.want(0, "", "apply", "-auto-approve", "-target=phase.first[\"i=0\"]")
			h.Exec("rm " + r.folder + "/go")
			past.want(0, "", "apply", "-auto-approve", "-detach")
			r.until("4 starts", func() bool { return len(r.lines()) >= 4 })
			h.Exec(c.harm)
			r.want(0, "running", "status", "-refresh")
			r.want(0, "0 to re-run", "plan")
			r.put("go", "")
			r.want(0, "Done: 16 of 16 jobs done and verified", "apply", "-auto-approve")
			finished(t, r.lines())
			r.want(0, "Nothing to do", "plan", "-detailed-exitcode")
		})
	}
}

// slurmUpgraded: the same, where the oldest version's arrays are in Slurm.
func slurmUpgraded(t *testing.T) {
	old := oldBinary(t)
	c := onSlurm(t, "")
	c.write("campaign.muster.hcl", strings.NewReplacer("RECORD", c.log, "FOLDER", c.workdir,
		"BACKEND", "backend \"slurm\" \"lab\" { workdir = \""+c.workdir+"\" }", "PLACE", "slurm.lab").Replace(upgraded))
	past := *c
	past.world = c.aged(old)
	goFile := filepath.Join(c.workdir, "go")
	if err := os.WriteFile(goFile, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	past.must("apply", "-auto-approve", "-target=phase.first[\"i=0\"]")
	os.Remove(goFile)
	past.must("apply", "-auto-approve", "-detach")
	c.started(4)
	if out := c.must("plan"); !strings.Contains(out, "0 to re-run") {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(goFile, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := c.must("apply", "-auto-approve"); !strings.Contains(flat(out), "16 of 16 jobs done and verified") {
		t.Errorf("%s", out)
	}
	record, _ := os.ReadFile(c.log)
	finished(t, strings.Fields(string(record)))
}
