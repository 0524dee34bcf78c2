package systemtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const slurmNodesCampaign = `campaign "span" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "a" {
  place { candidates = [backend.slurm.lab] }
  job {
    command        = "echo ${job.rank} of $WORLD_SIZE $MUSTER_LOCAL_RANK ${job.master} $MASTER_ADDR ${job.hosts} $SLURMD_NODENAME ${job.nodes} >> RECORD; : > ${output.r}"
    launcher       = "srun"
    ranks_per_node = 2
    output "r" { path = "out/a" }
    resources {
      nodes    = 2
      cpus     = 4
      memory   = "100MiB"
      walltime = "5m"
    }
  }
}
`

// slurmNodes: a launcher starts a command on both nodes of a job, once they have found
// each other.
func slurmNodes(t *testing.T) {
	// Requirement: MN-01, MN-04
	c := onSlurm(t, slurmNodesCampaign)
	c.must("apply", "-auto-approve")
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	hosts := strings.Split(strings.Fields(lines[0])[6], ",")
	if len(lines) != 4 || len(hosts) != 2 {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		want := strings.Join([]string{string("0123"[i]), "of 4", string("01"[i%2]), hosts[0], hosts[0], strings.Join(hosts, ","), hosts[i/2], "2"}, " ")
		if line != want {
			t.Errorf("rank %d saw %q, want %q", i, line, want)
		}
	}
}
