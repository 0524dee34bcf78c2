package systemtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const slurmPack = `campaign "packed" {}
backend "slurm" "lab" {
  workdir    = "WORKDIR"
  profile    = "site.hcl"
  partitions = ["amilan"]
}
budget "nodes" { limits = { node_hours = 1 } }
phase "replica" {
  grid { axes = { n = range(5) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo ${cell.n} $SLURM_JOB_ID >> RECORD; sleep 1; if [ ${cell.n} = 2 ] && mkdir WORKDIR/once; then exit 3; fi; echo x > ${output.r}"
    output "r" { path = "out/${cell.n}" }
    resources {
      cpus     = 16
      walltime = "5m"
    }
  }
  retry {
    on           = ["unknown"]
    max_attempts = 2
  }
}
`

// slurmPacked: four jobs of 16 cores share a node of 64, the fifth has another, and the
// one that fails is launched again alone, while the others of its pack go on.
func slurmPacked(t *testing.T) {
	c := onSlurm(t, slurmPack)
	c.write("site.hcl", `site     = "Lab"
verified = "2026-11"
pack     = "auto"
partition "amilan" {
  nodes    = 2
  cpus     = 64
  max_time = "24h"
  price {
    service_units_per_node_hour = "1"
    whole_node                  = true
  }
}
`)
	c.count("", "sbatch")
	out, code := c.run("apply", "-auto-approve")
	if code != 0 || !strings.Contains(out, "4 share a node") || !strings.Contains(out, "unpacked") || !strings.Contains(out, "5 of 5 jobs done and verified") {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]int{}
	for line := range strings.Lines(string(text)) {
		_, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		jobs[id]++
	}
	sizes := map[int]int{}
	for _, n := range jobs {
		sizes[n]++
	}
	if len(jobs) != 3 || sizes[4] != 1 || sizes[1] != 2 {
		t.Errorf("launches by job of Slurm's: %v", jobs)
	}
	calls := slices.DeleteFunc(c.calls("sbatch"), func(call string) bool { return !strings.HasSuffix(call, ".sh") })
	if len(calls) != 3 {
		t.Errorf("submissions %q", calls)
	}
}
