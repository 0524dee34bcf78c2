package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// comebacks is a campaign whose results come back; BACKEND is a block and AT its
// address.
const comebacks = `
campaign "comebacks" {}
source { include = ["train.sh"] }
BACKEND
phase "a" {
  grid { axes = { s = [1, 2, 3] } }
  place { candidates = [AT] }
  job {
    command = "echo ran >> ${path.workdir}/ran; mkdir -p ${output.d}; sh train.sh > ${output.n}; sh train.sh > ${output.d}/f; echo '{\"loss\": ${cell.s}}' > ${output.m}"
    output "n" {
      path   = "out/n${cell.s}"
      verify = "nonempty"
    }
    output "d" { dir = "out/d${cell.s}" }
    output "m" {
      path   = "out/m${cell.s}.json"
      verify = "json"
    }
    metric "loss" {
      output   = "m"
      json     = "/loss"
      required = true
    }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// comeBack tries on a backend that is not this machine what comes back without a
// run: replaced results, and files of a state that was lost. In workdir are the
// backend's files, as they are seen here.
func (w *world) comeBack(workdir string) {
	w.t.Helper()
	is := func(file, want string) {
		w.t.Helper()
		if got, err := os.ReadFile(filepath.Join(workdir, file)); err != nil || string(got) != want {
			w.t.Fatalf("%s holds %q (%v), want %q", file, got, err, want)
		}
	}
	w.write("train.sh", "echo ONE\n")
	w.want(0, "3 of 3 jobs done", "apply", "-auto-approve")
	w.write("train.sh", "echo TWO\n")
	w.want(0, "3 of 3 jobs done", "apply", "-auto-approve", "-allow-rerun")
	is("out/n1", "TWO\n")

	w.write("train.sh", "echo ONE\n")
	w.want(0, "0 to run, 0 to re-run, 0 to cancel, 0 unchanged, 3 to restore", "plan")
	w.want(1, "-allow-rerun", "apply", "-auto-approve")
	w.want(0, "3 of 3 jobs done", "apply", "-auto-approve", "-allow-rerun")
	is("out/n1", "ONE\n")
	is("out/d3/f", "ONE\n")
	w.want(0, "", "plan", "-detailed-exitcode")
	w.write("train.sh", "echo TWO\n")
	w.want(0, "3 to restore", "plan", "-out=p")
	w.want(0, "3 of 3 jobs done", "apply", "p")
	is("out/d2/f", "TWO\n")
	w.want(0, "", "plan", "-verify", "-detailed-exitcode")

	// The state is lost: the files are adopted where they are, and one that is broken
	// is not.
	states, _ := filepath.Glob(filepath.Join(w.dir, "muster.state.*"))
	for _, file := range states {
		if err := os.RemoveAll(file); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(workdir, "out", "m2.json"), []byte(`{"loss": `), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.want(0, "import { to = phase.a }", "plan")
	w.write("import.muster.hcl", "import { to = phase.a }\n")
	w.want(0, "1 to run, 0 to re-run, 0 to cancel, 0 unchanged, 2 to adopt", "plan")
	w.want(0, "not adopted: output m: json", "plan")
	w.want(0, "3 of 3 jobs done", "apply", "-auto-approve", "-allow-rerun")
	w.want(0, "phase.a: 2 jobs adopted on ", "report")
	w.want(0, "", "plan", "-detailed-exitcode")
	is("ran", strings.Repeat("ran\n", 7))
}

// TestSystemSSHResultsComeBack: results are put back, and files adopted, on a host.
func TestSystemSSHResultsComeBack(t *testing.T) {
	hosts := lab.Hosts(t, 1)
	r := newRemote(t, hosts, strings.NewReplacer("BACKEND", `backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
}`, "AT", "backend.ssh.lab").Replace(comebacks))
	r.patient()
	r.comeBack(hosts[0].Path(r.folder + "/work"))
}

// slurmComeBack does the same on a cluster.
func slurmComeBack(t *testing.T) {
	c := onSlurm(t, strings.NewReplacer("BACKEND", `backend "slurm" "lab" { workdir = "WORKDIR" }`, "AT", "backend.slurm.lab").Replace(comebacks))
	c.comeBack(c.workdir)
}
