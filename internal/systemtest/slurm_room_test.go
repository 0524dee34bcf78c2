package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slurmRoomy is ten jobs of an account that may have four submitted. They end when
// they are let, so that none makes room while muster still submits.
const slurmRoomy = `campaign "room" {}
backend "slurm" "lab" {
  workdir = "WORKDIR"
  account = "peak"
}
phase "a" {
  grid { axes = { n = range(0, 10) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo a ${cell.n} >> RECORD; until [ -e WORKDIR/let ]; do sleep 0.1; done; echo 1 > ${output.r}"
    output "r" { path = "out/${cell.n}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmRoom: an array longer than the account may have submitted, one of
// somebody's own among them, goes in parts as room appears.
func slurmRoom(t *testing.T) {
	c := onSlurm(t, slurmRoomy)
	limit := func(n string) {
		c.slurm("sacctmgr", "-i", "modify", "user", "root", "where", "account=peak", "set", "MaxSubmitJobs="+n)
	}
	limit("4")
	defer limit("-1")
	own := c.slurm("sbatch", "--parsable", "-A", "peak", "-H", "-o", "/dev/null", "--wrap=true")
	defer c.slurm("scancel", own)
	let := filepath.Join(c.workdir, "let")
	out := c.must("apply", "-detach", "-auto-approve")
	if !strings.Contains(out, "Waits for muster: backend.slurm.lab lets you have 4 jobs submitted to amilan, the limit of account") {
		t.Errorf("the hand-over says\n%s", out)
	}
	c.until("first part", time.Minute, func() bool { return len(c.ran()) == 3 })
	if err := os.WriteFile(let, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.idle(time.Minute)
	if n := len(c.ran()); n != 3 {
		t.Errorf("with muster off %d ran, where 3 had room", n)
	}
	if out := c.must("status", "-refresh"); !strings.Contains(out, "account peak lets you have 4 jobs submitted") {
		t.Errorf("status does not say what the rest waits for:\n%s", out)
	}
	// A second apply without any room submits nothing, and says so.
	more := c.slurm("sbatch", "--parsable", "-A", "peak", "-H", "-o", "/dev/null", "--array=1-3", "--wrap=true")
	defer c.slurm("scancel", more)
	if out := c.must("apply", "-detach", "-auto-approve"); !strings.Contains(out, "3 of 10 jobs done and verified, 7 left") || strings.Contains(out, "will still start") {
		t.Errorf("the second hand-over says\n%s", out)
	}
	c.slurm("scancel", more)
	if err := os.Remove(let); err != nil {
		t.Fatal(err)
	}
	c.must("apply", "-detach", "-auto-approve")
	c.until("second part", time.Minute, func() bool { return len(c.ran()) == 6 })
	if err := os.WriteFile(let, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.idle(time.Minute)
	if n := len(c.ran()); n != 6 {
		t.Errorf("%d have run, where 3 and 3 had room", n)
	}
	c.must("apply", "-auto-approve")
	c.wantRan("a", 10)
}
