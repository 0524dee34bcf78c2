package systemtest

import (
	"strings"
	"testing"
	"time"
)

const slurmWalltime = `campaign "walltime" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "long" {
  grid { axes = { kind = ["moves", "stuck"] } }
  place { candidates = [backend.slurm.lab] }
  checkpoint {
    path   = "ck/${cell.kind}"
    signal = "USR1"
    grace  = "20s"
  }
  retry {
    on           = ["walltime"]
    max_attempts = 3
  }
  job {
    command = <<-SH
      echo begins ${cell.kind} $MUSTER_ATTEMPT >> RECORD
      trap 'echo signal ${cell.kind} >> RECORD; [ ${cell.kind} = stuck ] || date > "$MUSTER_CHECKPOINT"' USR1
      [ -e "$MUSTER_CHECKPOINT" ] && { echo x > ${output.r}; exit 0; }
      while :; do sleep 1; done
    SH
    output "r" { path = "out/${cell.kind}" }
    resources {
      memory   = "50MiB"
      walltime = "1m"
    }
  }
}
`

// slurmSegments: a job is told before its walltime, writes its checkpoint and
// goes on from it under the same id; one whose checkpoint did not move ends.
func slurmSegments(t *testing.T) {
	c := onSlurm(t, slurmWalltime)
	c.must("apply", "-detach", "-auto-approve")
	c.idle(5 * time.Minute)
	out, _ := c.pass()
	ran := c.ran()
	if ran["begins moves 1"] != 1 || ran["begins moves 2"] != 1 || ran["signal moves"] != 1 || ran["begins moves 3"] != 0 {
		t.Errorf("the one whose checkpoint moved: %v", ran)
	}
	if ran["begins stuck 1"] != 1 || ran["begins stuck 2"] != 0 || ran["signal stuck"] != 1 {
		t.Errorf("the one whose checkpoint did not: %v", ran)
	}
	if !strings.Contains(out, "1 of 2 jobs done and verified, 1 failed") || !strings.Contains(out, "no checkpoint has moved") {
		t.Errorf("%s", out)
	}
}
