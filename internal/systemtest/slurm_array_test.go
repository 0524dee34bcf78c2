package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const slurmArray = `campaign "array" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "snapshots" {
  grid { axes = { i = range(0, 20) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 5
  params       = { steps = 100 }
  job {
    command = "echo begin ${cell.i} ${param.steps} $SLURM_JOB_PARTITION >> RECORD; sleep 1; if [ ${cell.i} = 7 ] && [ ${param.steps} = 100 ] && [ ! -e WORKDIR/mended ]; then echo no licence; exit 3; fi; echo x > ${output.r}; echo end ${cell.i} ${param.steps} >> RECORD"
    output "r" { path = "out/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
  smoke {
    params   = { steps = 1 }
    walltime = "2m"
    cells    = "first"
  }
}
`

// slurmElement: a smoke runs on the testing partition; of an array no more
// run at once than may; one element that fails leaves the others alone, and
// alone runs again.
func slurmElement(t *testing.T) {
	c := onSlurm(t, slurmArray)
	c.count("", "sbatch")
	out, code := c.run("apply", "-auto-approve")
	if code == 0 || !strings.Contains(out, "19 of 20 jobs done and verified, 1 failed") {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	if !strings.Contains(out, "exit 3") || !strings.Contains(out, "no licence") {
		t.Errorf("how it failed is not told:\n%s", out)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "begin 0 1 atesting") {
		t.Errorf("the smoke was not first, or not on the testing partition:\n%s", text)
	}
	running, most := 0, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "begin 7 "):
		case strings.HasPrefix(line, "begin"):
			running++
		case strings.HasPrefix(line, "end"):
			running--
		}
		most = max(most, running)
	}
	if most > 5 {
		t.Errorf("%d ran at once, 5 may", most)
	}
	arrays := 0
	for _, call := range c.calls("sbatch") {
		if strings.HasSuffix(call, ".sh") {
			arrays++
		}
	}
	if arrays != 2 {
		t.Errorf("%d submissions for a smoke and an array:\n%s", arrays, strings.Join(c.calls("sbatch"), "\n"))
	}
	if err := os.WriteFile(filepath.Join(c.workdir, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.must("resume")
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "20 of 20 jobs done and verified") {
		t.Errorf("%s", out)
	}
	ran := c.ran()
	if ran["end 7 100"] != 1 || ran["end 6 100"] != 1 || len(ran) > 45 {
		t.Errorf("what ran: %v", ran)
	}
}

const slurmChain = `campaign "runaway" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
LINKS
`

// slurmRunaway: the first link of a chain of 15 dies at once. None of the
// others starts, and a neighbour's job is left alone.
func slurmRunaway(t *testing.T) { runaway(t, onSlurm) }

func runaway(t *testing.T, on func(*testing.T, string) *cluster) {
	var links strings.Builder
	for i := range 15 {
		after := ""
		if i > 0 {
			after = `depends_on = [phase.link` + digits(i-1) + `]`
		}
		links.WriteString(`phase "link` + digits(i) + `" {
  place { candidates = [backend.slurm.lab] }
  ` + after + `
  job {
    command = "echo link ` + digits(i) + ` >> RECORD; nosuchprogram"
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`)
	}
	c := on(t, strings.ReplaceAll(slurmChain, "LINKS", links.String()))
	neighbour := c.dialect.neighbour(c)
	t.Cleanup(func() { c.tell(c.dialect.cancel, neighbour) })
	c.count("", c.dialect.submit)
	c.must("apply", "-detach", "-auto-approve")
	c.idle(2 * time.Minute)
	sent := len(c.submissions())
	if ran := c.ran(); len(ran) != 1 || ran["link 00"] != 1 || sent > 15 {
		t.Errorf("%d submissions; ran: %v", sent, ran)
	}
	out, _ := c.pass()
	if !strings.Contains(out, "not found") {
		t.Errorf("the log's end is not told:\n%s", out)
	}
	c.run("cancel", "phase.*")
	if ran := c.ran(); len(ran) != 1 {
		t.Errorf("something started again: %v", ran)
	}
	if !c.dialect.alive(c, neighbour) {
		t.Error("the neighbour's job was ended")
	}
}

func digits(i int) string { return string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) }
