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

// slurmWholeNodes charges whole nodes, of which jobs that need a part share one.
const slurmWholeNodes = `site     = "Lab"
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
`

// slurmPacked: four jobs of 16 cores share a node of 64, the fifth has another, and the
// one that fails is launched again alone, while the others of its pack go on.
func slurmPacked(t *testing.T) {
	c := onSlurm(t, slurmPack)
	c.write("site.hcl", slurmWholeNodes)
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

// slurmTurns: six jobs of half a node take turns in two slots of one job of Slurm's, each
// in a process of its own, and two at once.
func slurmTurns(t *testing.T) {
	c := onSlurm(t, strings.NewReplacer(`profile    = "site.hcl"`, "profile    = \"site.hcl\"\n  allocation = \"16m\"", "range(5)", "range(6)", "cpus     = 16", "cpus     = 32",
		"if [ ${cell.n} = 2 ] && mkdir WORKDIR/once; then exit 3; fi; ", "").Replace(slurmPack))
	c.write("site.hcl", slurmWholeNodes)
	c.count("", "sbatch")
	out, code := c.run("apply", "-auto-approve")
	// Before Slurm has answered sbatch, none is submitted; a job whose turn has not come is.
	since := strings.ReplaceAll(out, "phase.replica: 0 of 6 done, 6 not submitted yet\n", "")
	if code != 0 || !strings.Contains(out, "2 share a node, 3 in turn") || !strings.Contains(out, "wait in the queue as 1 allocation") || !strings.Contains(out, "6 of 6 jobs done and verified") || strings.Contains(since, "not submitted yet") {
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
	if len(jobs) != 1 || strings.Count(string(text), "\n") != 6 {
		t.Errorf("launches by job of Slurm's: %v", jobs)
	}
	calls := slices.DeleteFunc(c.calls("sbatch"), func(call string) bool { return !strings.HasSuffix(call, ".sh") })
	if len(calls) != 1 {
		t.Errorf("submissions %q", calls)
	}
}
