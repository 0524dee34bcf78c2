package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHTenMinutes: what docs/guide/ssh.md has a new user type, word for word,
// from nothing to results that are here and checked.
func TestSystemSSHTenMinutes(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, `campaign "none" {}`)
	r.dir = filepath.Join(r.dir, "sweep")
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.want(0, "Wrote campaign.muster.hcl", "init", "-from=ssh")
	r.want(0, "muster's program here: /home/alice/", "backends", "-var", "host=h1", "ssh.lab")
	r.edit("campaign.muster.hcl", `variable "host" {`, "variable \"host\" {\n  default     = \"h1\"")
	r.want(0, "Plan: 6 to run, 0 to re-run, 0 to cancel, 0 unchanged.", "plan")
	r.want(0, "Done: 6 of 6 jobs done and verified.", "apply", "-auto-approve")
	r.want(0, "every digest is as recorded", "pull")
	got, err := os.ReadFile(filepath.Join(r.dir, "outputs", "results", "lr0.1-seed1.json"))
	if want := `{"lr": 0.1, "seed": 1, "loss": 10}` + "\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	r.want(0, "Nothing to do", "plan", "-detailed-exitcode")
}

// TestSystemSSHLabExample: examples/ssh-lab runs as it is on a host, with GPUs of
// which one is somebody else's, and its results come here.
func TestSystemSSHLabExample(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	h.GPUs(3)
	h.Hold(2, 9000)
	r := newRemote(t, []*lab.Host{h}, `campaign "none" {}`)
	r.dir = filepath.Join(r.dir, "ssh-lab")
	if err := os.CopyFS(r.dir, os.DirFS(filepath.Join("..", "..", "examples", "ssh-lab"))); err != nil {
		t.Fatal(err)
	}
	r.edit("campaign.muster.hcl", `default     = "lab1"`, `default     = "h1"`)
	r.want(0, "2 of 3 GPUs free", "plan", "-var", "gpus=1")
	r.want(0, "13 of 13 jobs done and verified", "apply", "-auto-approve", "-var", "gpus=1")
	table, err := os.ReadFile(filepath.Join(r.dir, "summary.csv"))
	if err != nil || !strings.HasPrefix(string(table), "n,jobs,pi\n1000,4,3.") || !strings.Contains(string(table), "\n100000,4,3.1") {
		t.Errorf("%q, %v", table, err)
	}
	r.want(0, "every digest is as recorded", "pull", "-var", "gpus=1")
	r.want(0, "Nothing to do", "plan", "-detailed-exitcode", "-var", "gpus=1")
	r.want(0, "", "backends", "-cleanup", "-var", "gpus=1")
}

// edit replaces a text that must be in a file of the campaign's folder.
func (w *world) edit(name, old, text string) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil || !strings.Contains(string(b), old) {
		w.t.Fatalf("%s has no %q: %v", name, old, err)
	}
	w.write(name, strings.Replace(string(b), old, text, 1))
}

// TestSystemAutoDLStarter: what a person does on a machine that they rented by hand, from
// nothing to a verified result in five commands; muster says what is billed, and that it
// does not end it.
func TestSystemAutoDLStarter(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	h.GPUs(1)
	r := newRemote(t, []*lab.Host{h}, `campaign "none" {}`)
	r.dir = filepath.Join(r.dir, "autodl")
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at := []string{"-var", "host=h1", "-var", "port=22"}
	r.want(0, "What next", "init", "-from=autodl")
	r.edit("campaign.muster.hcl", `"/root/autodl-tmp/muster"`, `"`+r.folder+`"`) // alice is not root
	r.want(0, "instance on ssh.autodl has been running since 2026-11-23: $0.35/h, $8.40 a day", append([]string{"plan"}, at...)...)
	r.want(0, "Done: 1 of 1 jobs done and verified.", append([]string{"apply", "-auto-approve"}, at...)...)
	r.want(0, "every digest is as recorded", append([]string{"pull"}, at...)...)
	if got, err := os.ReadFile(filepath.Join(r.dir, "outputs", "gpu.txt")); err != nil || len(got) == 0 {
		t.Errorf("%q, %v", got, err)
	}
	r.want(0, "Rented by hand, so that muster does not end it: instance on ssh.autodl", append([]string{"destroy", "-auto-approve"}, at...)...)
}
