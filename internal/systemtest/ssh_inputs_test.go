package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHInputs: files that no phase makes are copied to a host that does not
// see them, once; files that are there are read in place.
func TestSystemSSHInputs(t *testing.T) {
	hosts := lab.Hosts(t, 1)
	r := newRemote(t, hosts, `
campaign "inputs" {}
backend "ssh" "lab" {
  host    = "alice@h1"
  workdir = "~/work"
}
phase "sent" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "cat ${input.raw} >${output.o}"
    input "raw" { path = "data/*.csv" }
    output "o" { path = "sent" }
  }
}
phase "there" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo ${input.big} >${output.o}; cat ${input.big} >>${output.o}"
    input "big" {
      path    = "~/big.bin"
      backend = backend.ssh.lab
    }
    output "o" { path = "there" }
  }
}
`)
	if err := os.Mkdir(filepath.Join(r.dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.csv": "a\n", "b.csv": "b\n"} {
		if err := os.WriteFile(filepath.Join(r.dir, "data", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hosts[0].Exec("echo big >/home/alice/big.bin; chown alice: /home/alice/big.bin")
	out, _ := r.run("plan")
	if !strings.Contains(out, "⇡ push") || !strings.Contains(out, "local.local → ssh.lab, 4B") {
		t.Errorf("the plan does not show the push:\n%s", out)
	}
	r.want(0, "2 of 2 jobs done and verified", "apply", "-auto-approve")
	r.want(0, "", "plan", "-detailed-exitcode")
	if got := hosts[0].Exec("cat /home/alice/work/sent /home/alice/work/there"); got != "a\nb\n/home/alice/big.bin\nbig" {
		t.Errorf("the jobs made %q", got)
	}
	hosts[0].Exec("echo bigger >/home/alice/big.bin")
	if err := os.WriteFile(filepath.Join(r.dir, "data", "b.csv"), []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ = r.run("plan")
	for _, want := range []string{"input bytes changed: data/b.csv", "input bytes changed: ~/big.bin", "1 file"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan does not say %q:\n%s", want, out)
		}
	}
	r.want(0, "2 of 2 jobs done and verified", "apply", "-auto-approve", "-allow-rerun")
	if got := hosts[0].Exec("cat /home/alice/work/sent /home/alice/work/there"); got != "a\nnew\n/home/alice/big.bin\nbigger" {
		t.Errorf("the jobs made %q", got)
	}

	// A large file is digested where it is, while other jobs run, and no plan reads it.
	hosts[0].Exec("truncate -s 70M /home/alice/big.bin")
	if out, _ := r.run("plan"); !strings.Contains(out, "not yet digested: ~/big.bin (70MiB)") {
		t.Errorf("the plan does not leave the file to the apply:\n%s", out)
	}
	r.want(3, "1 with changed inputs", "apply", "-auto-approve")
	if got := hosts[0].Exec("tail -c 7 /home/alice/work/there"); got != "bigger" {
		t.Errorf("out of the plan a job made %q", got)
	}
	r.want(0, "2 of 2 jobs done and verified", "apply", "-auto-approve", "-allow-rerun")
	hosts[0].Exec("touch /home/alice/big.bin")
	if out, _ := r.run("plan"); !strings.Contains(out, "not yet digested: ~/big.bin (70MiB)") {
		t.Errorf("the plan does not leave the touched file to the apply:\n%s", out)
	}
	r.want(0, "2 of 2 jobs done and verified", "apply", "-auto-approve")
	r.want(0, "", "plan", "-detailed-exitcode")
}
