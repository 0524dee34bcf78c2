package systemtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// slurmUneven has what real campaigns have: three axes in another order in
// each phase, two requests in a phase, a cap, setup, environment, a secret,
// names that a shell takes apart, a phase that reads some cells, one that
// reads all, and 2 % that fail.
const slurmUneven = `campaign "uneven" {}
backend "slurm" "lab" {
  workdir = "WORKDIR"
  setup   = "export FROM_SETUP=it\\'s"
  env     = { SITE = "a b$c" }
}
phase "teachers" {
  grid {
    axes = {
      N    = [384, 512]
      arm  = ["a b", "ü/é", "q'x", "$HOME", "p\"q"]
      seed = range(0, 10)
    }
  }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 12
  job {
    command = <<-SH
      echo begin teacher ${shellquote(cell.key)} "$FROM_SETUP" "$SITE" $${#TOK} >> RECORD
      if [ ${cell.N}${cell.seed} = 3847 ] && [ ${shellquote(cell.arm)} = "a b" ] && [ ! -e WORKDIR/mended ]; then exit 3; fi
      if [ ${cell.N}${cell.seed} = 5120 ] && [ ${shellquote(cell.arm)} = 'p"q' ] && [ ! -e WORKDIR/mended ]; then printf '{"a": ' > "$MUSTER_OUTPUT_R"; exit 0; fi
      echo '{}' > "$MUSTER_OUTPUT_R"
      echo end teacher >> RECORD
    SH
    secret "TOK" { env = "MUSTER_TEST_SECRET" }
    output "r" {
      path   = "out/t/${cell.N}-${replace(cell.arm, "/", "_")}-${cell.seed}.json"
      verify = "json"
    }
    resources {
      cpus     = cell.N == 384 ? 1 : 2
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "students" {
  grid {
    axes = {
      seed = range(0, 10)
      arm  = ["a b", "ü/é", "q'x", "$HOME", "p\"q"]
      N    = [512, 384]
    }
  }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "cp \"$MUSTER_INPUT_T\" \"$MUSTER_OUTPUT_R\"; echo student ${shellquote(cell.key)} >> RECORD"
    input "t" { from = phase.teachers.output.r }
    output "r" { path = "out/s/${cell.N}-${replace(cell.arm, "/", "_")}-${cell.seed}.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "evals" {
  grid {
    axes = {
      arm  = ["$HOME", "a b", "p\"q", "q'x", "ü/é"]
      N    = [384, 512]
      seed = range(0, 10)
    }
  }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "cp \"$MUSTER_INPUT_S\" \"$MUSTER_OUTPUT_R\"; echo eval ${shellquote(cell.key)} >> RECORD"
    input "s" { from = phase.students.output.r }
    output "r" { path = "out/e/${cell.N}-${replace(cell.arm, "/", "_")}-${cell.seed}.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "slice" {
  grid {
    axes = {
      seed = [1, 2, 3]
      N    = [512]
      arm  = ["q'x", "ü/é"]
    }
  }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "cp \"$MUSTER_INPUT_S\" \"$MUSTER_OUTPUT_R\"; echo slice ${shellquote(cell.key)} >> RECORD"
    input "s" { from = phase.students.output.r }
    output "r" { path = "out/l/${cell.key}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "summary" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo summary $(wc -l < \"$MUSTER_INPUT_ALL\") >> RECORD; echo ok > ${output.r}"
    input "all" { from_all = phase.slice.output.r }
    output "r" { path = "out/summary" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmHeldBack: all of it is submitted in a few arrays, runs with muster off, and is
// accounted for afterwards.
func slurmHeldBack(t *testing.T) {
	c := onSlurm(t, slurmUneven)
	secret := "s3cret-" + filepath.Base(c.workdir)
	t.Setenv("MUSTER_TEST_SECRET", secret)
	c.count("", "sbatch", "scontrol", "squeue", "sacct")
	out := c.must("apply", "-detach", "-auto-approve")
	if !strings.Contains(out, "307 queued on slurm.lab will still start") {
		t.Errorf("%s", out)
	}
	var arrays []string
	for _, call := range c.calls("sbatch") {
		if strings.HasSuffix(call, ".sh") {
			arrays = append(arrays, call)
		}
	}
	// Two requests make two arrays of a phase, and of those that follow it cell by cell.
	if len(arrays) != 8 {
		t.Errorf("%d submissions for 5 phases:\n%s", len(arrays), strings.Join(arrays, "\n"))
	}
	// What is told afterwards is that three phases are held no more, not what single jobs wait for.
	if updates := c.calls("scontrol update"); len(updates) != 3 || slices.ContainsFunc(updates, func(u string) bool { return !strings.Contains(u, " Comment=muster ") }) {
		t.Errorf("%d updates:\n%s", len(updates), strings.Join(updates, "\n"))
	}
	c.idle(5 * time.Minute)

	out, _ = c.pass()
	if !strings.Contains(out, "301 of 307 jobs done and verified, 2 failed, 4 blocked") {
		t.Errorf("%s", out)
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	counts, running, most := map[string]int{}, 0, 0
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch counts[word]++; word {
		case "begin":
			running++
			if want := fmt.Sprintf("it's a b$c %d", len(secret)); !strings.HasSuffix(rest, want) {
				t.Errorf("setup, environment and secret of a job are %q, want %q", rest, want)
			}
		case "end":
			running--
		}
		most = max(most, running)
	}
	if want := map[string]int{"begin": 100, "end": 98, "student": 98, "eval": 98, "slice": 6, "summary": 1}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("ran: %v, want %v", counts, want)
	}
	if most > 12+2 { // the two that fail never say that they have ended
		t.Errorf("%d teachers ran at once, 12 may", most)
	}
	for line, n := range c.ran() {
		if n != 1 && !strings.HasPrefix(line, "end") {
			t.Errorf("%q ran %d times", line, n)
		}
	}
	if plan := c.must("plan"); !strings.Contains(plan, "0 to run, 0 to re-run, 0 to cancel, 301 unchanged, 2 held, 4 blocked") {
		t.Errorf("the next plan:\n%s", plan)
	}

	// What failed runs again alone, with what came after it.
	if err := os.WriteFile(filepath.Join(c.workdir, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.must("resume")
	c.must("apply", "-detach", "-auto-approve")
	c.idle(2 * time.Minute)
	if out, code := c.pass(); code != 0 || !strings.Contains(out, "307 of 307 jobs done and verified") {
		t.Errorf("%s", out)
	}
	if out, code := c.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "Nothing to do: 307 jobs are done and verified") {
		t.Errorf("the last plan is not empty: exit %d\n%s", code, out)
	}
	c.secretIsOut(secret)
}

// secretIsOut wants a secret in no file that muster leaves here or there, and
// in nothing that Slurm keeps.
func (c *cluster) secretIsOut(secret string) {
	c.t.Helper()
	for _, dir := range []string{c.workdir, c.dir} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/.muster/bin/") {
				return err
			}
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), secret) {
				c.t.Errorf("the secret stands in %s", path)
			}
			return nil
		})
		if err != nil {
			c.t.Error(err)
		}
	}
	if out := c.slurm("sacct", "-n", "-P", "-S", "now-1hours", "-E", "now", "-o", "JobID,JobName,Comment,SubmitLine"); strings.Contains(out, secret) {
		c.t.Error("the secret stands in accounting")
	}
}
