package systemtest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

const slurmChildCampaign = `campaign "child" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "a" {
  place { candidates = [backend.slurm.lab] }
  RETRY
  job {
    command = "python3 -c 'x = bytearray(200 << 20)'; echo a >> RECORD; echo '{}' > ${output.r}; exit 0"
    output "r" {
      path   = "out/a.json"
      verify = "json"
    }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "b" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo b >> RECORD; cp ${input.a} ${output.r}"
    input "a" { from = phase.a.output.r }
    output "r" { path = "out/b.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmChildKilled: the kernel kills a child for memory, and the command exits 0
// with a valid output. Slurm and muster agree that the job failed, with muster off,
// too; and where its policy retries that, the chain goes on.
func slurmChildKilled(t *testing.T) {
	if os.Getenv("SLURM_LAB_OOM") != "kernel" {
		needs.Absent(t, "memory limits of this cluster are polled, and not the kernel's: internal/lab/slurm-up wants cgroups")
	}
	c := onSlurm(t, strings.Replace(slurmChildCampaign, "RETRY", "", 1))
	c.must("apply", "-detach", "-auto-approve")
	c.idle(time.Minute)
	out, code := c.run("status", "-refresh")
	if code != 0 || !strings.Contains(out, "oom_sched") || !strings.Contains(out, "the kernel killed") || !strings.Contains(out, "1 blocked") || strings.Contains(out, "1 cancelled") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if ran := c.ran(); ran["a"] != 1 || ran["b"] != 0 {
		t.Errorf("ran %v", ran)
	}
	c = onSlurm(t, strings.Replace(slurmChildCampaign, "RETRY", `retry {
    on           = ["oom"]
    max_attempts = 2
    scale "oom" { memory = 10 }
  }`, 1))
	c.must("apply", "-detach", "-auto-approve")
	c.idle(2 * time.Minute)
	if out, code := c.pass(); code != 0 || !strings.Contains(out, "2 of 2 jobs done and verified") {
		t.Errorf("%s", out)
	}
	if ran := c.ran(); ran["a"] != 2 || ran["b"] != 1 {
		t.Errorf("ran %v", ran)
	}
}
