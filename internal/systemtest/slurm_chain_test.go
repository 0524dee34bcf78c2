package systemtest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const slurmChained = `campaign "chained" {}
backend "slurm" "lab" {
  workdir    = "WORKDIR"
  partitions = ["brief"]
}
phase "decorrelation" {
  place { candidates = [backend.slurm.lab] }
  checkpoint { path = "step" }
  job {
    command = <<-SH
      n=$(cat "$MUSTER_CHECKPOINT" 2>/dev/null || echo 0)
      echo begins at $n >> RECORD
      while [ $n -lt 18 ]; do
        sleep 5
        n=$((n + 1))
        echo $n > "$MUSTER_CHECKPOINT.new" && mv "$MUSTER_CHECKPOINT.new" "$MUSTER_CHECKPOINT"
        echo step $n >> RECORD
      done
      echo x > ${output.r}
    SH
    output "r" { path = "frames" }
    resources {
      memory   = "50MiB"
      walltime = "4m"
    }
  }
}
phase "extract" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo extract >> RECORD; cp ${input.r} ${output.r}"
    input "r" { from = phase.decorrelation.output.r }
    output "r" { path = "extracted" }
    resources {
      memory   = "50MiB"
      walltime = "1m"
    }
  }
}
`

// slurmChainedToTheEnd: work of a minute and a half on a partition that allows a minute is
// run as a chain of segments, with muster off, each from where the checkpoint of
// the one before stood; what comes after it waits for the last.
func slurmChainedToTheEnd(t *testing.T) {
	c := onSlurm(t, slurmChained)
	c.slurm("scontrol", "create", "PartitionName=brief", "Nodes=cpu1", "MaxTime=1", "DefaultTime=1", "State=UP", "AllowQos=ALL")
	t.Cleanup(func() { c.slurm("scontrol", "delete", "PartitionName=brief") })
	c.count("", "sbatch")
	if out := c.must("plan"); !strings.Contains(out, "segments") {
		t.Errorf("the plan does not say that it is chained:\n%s", out)
	}
	c.must("apply", "-detach", "-auto-approve")
	c.idle(8 * time.Minute)
	if out, code := c.pass(); code != 0 || !strings.Contains(out, "2 of 2 jobs done and verified") {
		t.Errorf("%s", out)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	at, segments := 0, 0
	for line := range strings.Lines(strings.TrimSpace(string(text)) + "\n") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "begins at "); ok {
			segments++
			if from, err := strconv.Atoi(n); err != nil || from < at || from > at+1 { // its last step may not have been noted
				t.Errorf("segment %d begins at %s, where the one before ended at %d", segments, n, at)
			}
		} else if n, ok := strings.CutPrefix(strings.TrimSpace(line), "step "); ok {
			at, _ = strconv.Atoi(n)
		}
	}
	if at != 18 || segments < 2 || !strings.HasSuffix(strings.TrimSpace(string(text)), "extract") || c.ran()["extract"] != 1 {
		t.Errorf("%d segments, to step %d:\n%s", segments, at, text)
	}
	sent := 0
	for _, call := range c.calls("sbatch") {
		if strings.HasSuffix(call, ".sh") {
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("%d submissions for 2 jobs", sent)
	}
}
