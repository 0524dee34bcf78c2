package systemtest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const slurmMailed = `campaign "mailed" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "snapshots" {
  grid { axes = { i = range(1, 21) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 5
  retry {
    on           = ["unknown"]
    max_attempts = 2
  }
  job {
    command = "echo snapshot ${cell.i} >> RECORD; test ${cell.i} != 7"
    options "slurm" { mail = "ADDRESS" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmMail: an array of twenty, one element of which fails, is started again
// and fails for good, is one mail, at its end.
func slurmMail(t *testing.T) {
	address := strings.ToLower(rand.Text()) + "@example.org"
	c := onSlurm(t, strings.ReplaceAll(slurmMailed, "ADDRESS", address))
	mails := func(to string) (list []string) {
		text, _ := os.ReadFile(filepath.Join(os.Getenv("SLURM_LAB_DIR"), "log", "mail"))
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(strings.TrimSpace(line), to) {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return list
	}
	c.must("apply", "-detach", "-auto-approve")
	if sent := mails(address); len(sent) > 0 && c.ours() != "" {
		t.Errorf("mailed before its end: %q", sent)
	}
	c.idle(5 * time.Minute)
	c.until("mail", time.Minute, func() bool { return len(mails(address)) > 0 })
	// Mails go out in turn: when a later one is there, so are all before it.
	c.slurm("sbatch", "--parsable", "--mail-user=after."+address, "--mail-type=END", "-t", "1", "-o", "/dev/null", "--wrap=true")
	c.until("later mail", time.Minute, func() bool { return len(mails("after."+address)) > 0 })
	if sent := mails(" " + address); len(sent) != 1 || !strings.Contains(sent[0], "Array Summary") || !strings.Contains(sent[0], "Failed") {
		t.Errorf("%d mails: %q", len(sent), sent)
	}
	if ran := c.ran(); len(ran) != 20 || ran["snapshot 7"] != 2 {
		t.Errorf("ran %v", ran)
	}
}
