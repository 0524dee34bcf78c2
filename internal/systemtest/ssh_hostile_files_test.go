package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// hostileNames are names of files that a shell, a pattern, an archive or a
// protocol of lines would take for something else.
var hostileNames = []string{
	"-rf", "--help", "it's", `say "hi"`, "$(touch owned)", "`touch owned`", "a;touch owned", "two words", " blank", "größe 日本 🧪", `back\slash`, "*", "[a-z]", "?", "~", "#", "%s", "{a,b}",
	"tab\tname", "two\nlines", "$HOME", "..x",
}

const hostileFilesCampaign = `
campaign "files" {}
backend "ssh" "lab" {
  hosts   = ["h1", "h2"]
  workdir = "FOLDER/-work $(touch owned)"
  env     = { BACKEND = "it's \"$(touch owned)\" \\ $HOME" }
  setup   = "SETUP=\"it's ok\"; export SETUP"
}
source { dir = "src" }
phase "read" {
  place { candidates = [backend.ssh.lab] }
  job {
    options "ssh" { host = "h1" }
    command = ["sh", "-c", "for f in ./* ./..x; do cat \"$f\"; done | sort > \"$1\"; printf '%s\\n' \"$BACKEND\" \"$SETUP\" > \"$2\"", "-", output.all, output.said]
    output "all" { path = "out/it's $(touch owned) größe/-all *" }
    output "said" { path = "-said ` + "`touch owned`" + `" }
    resources { walltime = "10m" }
  }
}
phase "moved" {
  place { candidates = [backend.ssh.lab] }
  job {
    options "ssh" { host = "h2" }
    command = ["sh", "-c", "cat -- \"$1\" > \"$2\"", "-", input.all, output.copy]
    input "all" { from = phase.read.output.all }
    output "copy" { path = "copy $HOME; touch owned" }
    resources { walltime = "10m" }
  }
}
`

// TestSystemSSHHostileFiles: files of the source, outputs that move between hosts
// and that are pulled, and what a backend sets, with names that ask for
// trouble: each arrives whole, and none of them runs.
func TestSystemSSHHostileFiles(t *testing.T) {
	hosts := lab.Hosts(t, 2)
	r := newRemote(t, hosts, hostileFilesCampaign)
	var all []string
	if err := os.MkdirAll(filepath.Join(r.dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range hostileNames {
		r.write(filepath.Join("src", name), "content of "+strings.ReplaceAll(name, "\n", "/")+"\n")
		all = append(all, "content of "+strings.ReplaceAll(name, "\n", "/"))
	}
	r.want(0, "2 of 2 jobs done", "apply", "-auto-approve")
	r.want(0, "3 files", "pull")
	copied, err := os.ReadFile(filepath.Join(r.dir, "outputs", "copy $HOME; touch owned"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range all {
		if n := strings.Count("\n"+string(copied), "\n"+line+"\n"); n != 1 {
			t.Errorf("%q is there %d times", line, n)
		}
	}
	if n := strings.Count(string(copied), "\n"); n != len(all) {
		t.Errorf("%d lines of %d files:\n%s", n, len(all), copied)
	}
	said, err := os.ReadFile(filepath.Join(r.dir, "outputs", "-said `touch owned`"))
	if want := "it's \"$(touch owned)\" \\ $HOME\nit's ok\n"; string(said) != want {
		t.Errorf("%q, want %q: %v", said, want, err)
	}
	for _, h := range hosts {
		if found := h.Exec("find / -xdev -name 'owned*' -type f -empty 2>/dev/null; true"); found != "" {
			t.Errorf("something ran as code on %s: %s", h.Name, found)
		}
	}
	r.want(0, "", "plan", "-detailed-exitcode")
}
