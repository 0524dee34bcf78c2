package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Axis values of every nasty kind are addresses, environment and paths, and
// never commands.
func TestSystemHostileAxisValues(t *testing.T) {
	w := newWorld(t, `
campaign "hostile" {}
backend "local" "local" { cpus = 4 }
grid "g" { axes = { v = ["a'b", "a\"b", "$${HOME} $(touch PWNED)", "`+"`touch PWNED`"+`", "x;touch PWNED", "line\nbreak", "tab\there", "日本語", "*", "-rf", " "] } }
phase "p" {
  grid = grid.g
  job {
    command = ["sh", "-c", "echo $MUSTER_ADDRESS | tr -d '\\n' | cksum >> RECORD; printf %s \"$V\" > \"$MUSTER_OUTPUT_X\""]
    env = { V = cell.v }
    output "x" {
      path   = "out/${sha256(cell.v)}"
      verify = "nonempty"
    }
    resources { walltime = "1m" }
  }
}
`)
	w.want(0, "11 of 11 jobs done", "apply", "-auto-approve")
	w.want(0, "Nothing to do", "plan", "-detailed-exitcode")
	if pwned := w.files("PWNED"); pwned != nil {
		t.Error("a value of an axis was run")
	}
	got := map[string]bool{}
	for _, f := range w.files("out/*") {
		b, _ := os.ReadFile(f)
		got[string(b)] = true
	}
	for _, v := range []string{"a'b", `a"b`, "$(touch PWNED)", "`touch PWNED`", "line\nbreak", "日本語", "*", "-rf", " "} {
		found := got[v]
		for g := range got {
			found = found || strings.HasSuffix(g, v)
		}
		if !found {
			t.Errorf("no job got %q: %v", v, got)
		}
	}
}

// Jobs that misbehave end all the same, by name, and leave nothing behind.
func TestSystemHostileJobs(t *testing.T) {
	for _, c := range []struct {
		name, command, walltime string
		code                    int
		want                    string
	}{
		{"leaves children behind", "(sleep 300 & setsid sleep 300 &) ; echo > ${output.x}", "1m", 0, "1 of 1"},
		{"ignores TERM", "trap '' TERM; while :; do sleep 1; done", "1s", 3, "walltime"},
		{"binary garbage in its log", "head -c 3000000 /dev/urandom; head -c 3000000 /dev/urandom >&2; exit 3", "1m", 3, "exit 3"},
		{"a log of 200 MB", "head -c 200000000 /dev/zero; echo > ${output.x}", "1m", 0, "1 of 1"},
		{"deletes its workdir", "cd / && rm -rf " + "WORKDIR; exit 1", "1m", 3, "failed"},
		{"kills its wrapper", "kill -9 $PPID; sleep 5", "1m", 3, "killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, `
campaign "hostile" {}
backend "local" "local" {
  cpus    = 2
  workdir = "WORKDIR"
}
phase "p" {
  job {
    command = "COMMAND"
    output "x" { path = "x" }
    resources { walltime = "`+c.walltime+`" }
    options {}
  }
}
`)
			workdir := filepath.Join(filepath.Dir(w.dir), "w")
			text := strings.NewReplacer("COMMAND", c.command, "    options {}\n", "").Replace(w.campaign())
			w.write("campaign.muster.hcl", strings.ReplaceAll(text, "WORKDIR", workdir))
			w.want(c.code, c.want, "apply", "-auto-approve")
			w.want(0, "", "status")
			w.want(0, "", "plan")
			w.until("the queue and what its jobs left are gone", func() bool { return len(w.processes()) == 0 })
		})
	}
}
