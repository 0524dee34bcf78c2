package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// roomy is a campaign of two phases on two volumes of this machine.
const roomy = `
campaign "roomy" {}
backend "local" "tight" {
  workdir = "FOLDER/tight"
  cpus    = 2
}
backend "local" "wide" {
  workdir = "FOLDER/wide"
  cpus    = 2
}
phase "stays" {
  grid { axes = { i = range(4) } }
  place { candidates = [backend.local.tight] }
  job {
    command = "echo stays >> RECORD; echo ${cell.i} > ${output.x}"
    output "x" { path = "out/${cell.i}" }
    resources { walltime = "10m" }
  }
}
phase "goes" {
  grid { axes = { i = range(4) } }
  place { candidates = [backend.local.wide] }
  job {
    command = "echo goes >> RECORD; echo ${cell.i} > ${output.x}"
    output "x" { path = "out/${cell.i}" }
    resources { walltime = "10m" }
  }
}
`

// TestSystemVolumeAt99PercentOfInodes, and at few of its bytes: what works there waits
// for room, the rest goes on, the plan and the status say so, and it goes on by
// itself.
func TestSystemVolumeAt99PercentOfInodes(t *testing.T) {
	// Requirement: STO-06
	w := newWorld(t, "campaign \"roomy\" {}\n")
	w.write("campaign.muster.hcl", strings.ReplaceAll(roomy, "FOLDER", w.dir))
	tight := filepath.Join(w.dir, "tight")
	small(t, tight, "20m,nr_inodes=200")
	for i := range 197 {
		if err := os.WriteFile(filepath.Join(tight, fmt.Sprint("f", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.want(0, tight+": 198 of 200 inodes are in use", "plan")
	d := w.start("apply", "-auto-approve")
	w.until("the other volume's jobs done", func() bool {
		out, _ := w.run("status")
		return strings.Contains(flat(out), "phase.goes 4 of 4 done") && strings.Contains(out, "nothing starts on backend.local.tight")
	})
	b, _ := os.ReadFile(w.log)
	if strings.Contains(string(b), "stays") {
		t.Errorf("a job started on a full volume: %s", b)
	}
	for i := range 100 {
		os.Remove(filepath.Join(tight, fmt.Sprint("f", i)))
	}
	out, code := d.end()
	if code != 0 || !strings.Contains(out, "8 of 8 jobs done") || !strings.Contains(out, "takes files again") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, _ := w.run("status"); strings.Contains(out, "nothing starts") {
		t.Errorf("the status still tells of it: %s", out)
	}
}

// TestSystemSSHVolumeAt99PercentOfInodes is the same on another machine.
func TestSystemSSHVolumeAt99PercentOfInodes(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, gated(3, 3))
	h.Exec(r.paths("mkdir -p FOLDER/work; mount -t tmpfs -o size=64m,nr_inodes=1000,mode=777 tmpfs FOLDER/work; cd FOLDER/work; for i in $(seq 990); do : > f$i; done"))
	d := r.start("apply", "-auto-approve")
	r.until("the pause in the status", func() bool {
		out, _ := r.run("status")
		return strings.Contains(out, "nothing starts on backend.ssh.lab") && strings.Contains(flat(out), r.paths("FOLDER/work: 991 of 1000 inodes are in use"))
	})
	if n := r.count("start"); n != 0 {
		t.Errorf("%d jobs started on a full volume", n)
	}
	h.Exec(r.paths("rm FOLDER/work/f*"))
	if out, code := d.end(); code != 0 || !strings.Contains(out, "3 of 3 jobs done") {
		t.Errorf("exit %d: %s", code, out)
	}
	r.onceEach(3)
}
