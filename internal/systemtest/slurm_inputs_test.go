package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const slurmFarInputs = `campaign "inputs" {}
backend "slurm" "lab" {
  workdir = "~/WORK"
  ssh { host = "h1" }
}
phase "sent" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "cat ${input.raw} > ${output.o}"
    input "raw" { path = "data/*.csv" }
    output "o" { path = "sent" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "there" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "wc -c < ${input.big} > ${output.o}"
    input "big" {
      path    = "big.bin"
      backend = backend.slurm.lab
    }
    output "o" { path = "there" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmInputs: files of this machine are copied to the login node, and a large one
// that is there is digested there while other jobs run.
func slurmInputs(t *testing.T) {
	c := overSSH(t, slurmFarInputs)
	for name, text := range map[string]string{"a.csv": "a\n", "b.csv": "b\n"} {
		name = filepath.Join(c.dir, "data", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("su", "alice", "-c", "mkdir -p "+c.far+" && truncate -s 70M "+c.far+"/big.bin").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := c.command("plan").CombinedOutput()
	for _, want := range []string{"local.local → slurm.lab, 4B", "not yet digested: big.bin (70MiB)"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("no %q: %v\n%s", want, err, out)
		}
	}
	out, err = c.command("apply", "-auto-approve").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 of 2 jobs done and verified") {
		t.Errorf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"sent": "a\nb\n", "there": "73400320\n"} {
		if got, err := os.ReadFile(filepath.Join(c.far, name)); string(got) != want {
			t.Errorf("%s holds %q: %v", name, got, err)
		}
	}
}
