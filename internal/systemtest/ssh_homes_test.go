package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHHomesThatDiffer: `~` is each host's own. Jobs, the files that others
// read, preconditions, a second plan and what is pulled keep them apart.
func TestSystemSSHHomesThatDiffer(t *testing.T) {
	// Requirement: SUB-18
	hosts := lab.Hosts(t, 2)
	r := newRemote(t, hosts, `
campaign "homes" {}
backend "ssh" "lab" {
  hosts   = ["alice@h1", "bob@h2"]
  workdir = "~/work"
  slots   = 2
}
phase "make" {
  grid { axes = { i = range(8) } }
  place { candidates = [backend.ssh.lab] }
  precondition { file = "seed" }
  job {
    command = "sleep 1; cat seed >${output.o}; pwd >>${output.o}; echo ${output.o} >>${output.o}"
    output "o" { path = "made/${cell.i}" }
  }
}
phase "read" {
  place { candidates = [backend.ssh.lab] }
  depends_on = [phase.make]
  job {
    command = "cat $(cat ${input_file.all}) >${output.o}"
    input "all" { from_all = phase.make.output.o }
    output "o" { path = "all" }
  }
}
`)
	for i, user := range []string{"alice", "bob"} {
		home := "/home/" + user
		hosts[i].Exec("mkdir " + home + "/work; echo seed >" + home + "/work/seed; chown -R " + user + ": " + home + "/work")
	}
	hosts[1].Exec("mv /home/bob/work/seed /home/bob")
	out, _ := r.run("plan")
	if !strings.Contains(out, "/home/bob/work/seed") || strings.Contains(out, "/home/alice/work/seed") {
		t.Errorf("that a file is not in one home is not told:\n%s", out)
	}
	hosts[1].Exec("mv /home/bob/seed /home/bob/work")

	r.want(0, "9 of 9 jobs done and verified", "apply", "-auto-approve")
	r.want(0, "", "plan", "-detailed-exitcode")
	r.want(0, "9 files", "pull")
	text, err := os.ReadFile(filepath.Join(r.dir, "outputs", "all"))
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"/home/alice/work", "/home/bob/work"} {
		if !strings.Contains(string(text), "seed\n"+home+"\n"+home+"/made/") {
			t.Errorf("no job ran in %s:\n%s", home, text)
		}
	}
}
