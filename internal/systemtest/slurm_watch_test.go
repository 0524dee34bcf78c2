package systemtest

import (
	"os"
	"strings"
	"testing"
	"time"
)

const slurmWatchedCampaign = `campaign "watched" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
grid "g" { axes = { i = range(3) } }
phase "w" {
  grid  = grid.g
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo $MUSTER_ADDRESS >> RECORD; echo x > ${output.x}; case ${cell.i} in 0) echo loss = nan; sleep 300;; 1) until [ -e WORKDIR/go ]; do sleep 0.2; done;; esac"
    output "x" { path = "out/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
    watch {
      forbid        = ["\\bnan\\b"]
      stalled_after = "10s"
    }
  }
}
`

// slurmWatched: the node ends a job for what it prints, with muster off, and
// tells of one that is silent.
func slurmWatched(t *testing.T) {
	c := onSlurm(t, slurmWatchedCampaign)
	c.must("apply", "-auto-approve", "-detach")
	c.until("word of the silent job", time.Minute, func() bool {
		out, _ := c.run("status", "-refresh")
		return strings.Contains(flat(out), "stalled: no output for ")
	})
	if err := os.WriteFile(c.workdir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.idle(time.Minute)
	out, code := c.run("apply", "-auto-approve")
	if code != 3 || !strings.Contains(flat(out), "2 of 3 jobs done and verified, 1 failed") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out := c.must("status"); !strings.Contains(flat(out), "forbidden") || !strings.Contains(out, "loss = nan") {
		t.Errorf("%s", out)
	}
	for address, n := range c.ran() {
		if n != 1 {
			t.Errorf("%s ran %d times", address, n)
		}
	}
}
