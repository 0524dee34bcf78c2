package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
)

const slurmCut = `campaign "cut" {}
backend "slurm" "lab" {
  workdir = "~/WORK"
  ssh { host = "h1" }
}
phase "jobs" {
  grid { axes = { i = range(0, 6) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo job ${cell.i} >> FAR/record; sleep 5; echo x > ${output.r}"
    output "r" { path = "out/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmLinkCut: the line to the login node is cut while sbatch runs there, and
// again while the jobs are watched.
func slurmLinkCut(t *testing.T) {
	c := overSSH(t, slurmCut)
	c.log = filepath.Join(c.far, "record")
	tools := filepath.Join(c.far, "tools")
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	slow := fmt.Sprintf("#!/bin/bash\ncase \"$*\" in *--test-only*) ;; *) mkdir %s/submitting; sleep 6;; esac\nexec %s \"$@\"\n", tools, real)
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	program.Write(t, filepath.Join(tools, "sbatch"), slow)
	for _, path := range []string{c.far, tools} {
		if out, err := exec.Command("chown", "alice", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	cmd := c.command("apply", "-auto-approve")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("sbatch there", 2*time.Minute, func() bool { return exists(filepath.Join(tools, "submitting")) })
	c.line.cut()
	time.Sleep(15 * time.Second) // the sbatch there ends meanwhile
	c.line.mend()
	c.until("first job", 3*time.Minute, func() bool { return len(c.ran()) > 0 })
	c.line.cut()
	time.Sleep(15 * time.Second)
	c.line.mend()
	err = cmd.Wait()
	c.wantSix(said.String(), err)
}
