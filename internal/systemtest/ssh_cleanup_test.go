package systemtest

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHCleanup: -cleanup leaves nothing of muster's on a host but results,
// says what it took away, and touches nothing while a job of whatever campaign
// of the user runs there.
func TestSystemSSHCleanup(t *testing.T) {
	// Requirement: STO-14
	h := lab.Hosts(t, 1)[0]
	r, f := gate(t, h, 2, 1)
	other := newWorld(t, r.paths(`
campaign "other" {}
source { include = ["*.txt"] }
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/other"
}
phase "p" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "cat a.txt > ${output.x}"
    output "x" { path = "x" }
  }
}
`))
	other.write("a.txt", "a\n")
	other.want(0, "1 of 1 jobs done", "apply", "-auto-approve")
	r.want(1, "may still run", "backends", "-cleanup")
	other.want(1, `Jobs of yours run or wait on h1`, "backends", "-cleanup")
	other.want(1, `campaign "gated": 1`, "backends", "-cleanup")
	if left := h.Exec("find /home/alice/.local/state/muster -name log"); left == "" {
		t.Error("the log of a queue that runs a job was removed")
	}
	r.open()
	r.done(f, 2)
	r.onceEach(2)

	out, code := other.run("backends", "-cleanup")
	for _, what := range []string{"/.local/state/muster/queue/", "/.cache/muster/bin/muster-host-", "/other/.muster/source", "/other/.muster/logs"} {
		if code != 0 || !strings.Contains(out, what) {
			t.Errorf("cleanup (%d) does not say that %s is removed:\n%s", code, what, out)
		}
	}
	r.until("the queue to leave with its spool", func() bool {
		return h.Exec("cd /home/alice; ls -d .cache/muster .local/state/muster "+r.folder+"/other/.muster /tmp/muster-* 2>/dev/null | grep -v lab; true") == ""
	})
	if got := h.Exec("cat " + r.folder + "/other/x"); got != "a\n" && got != "a" {
		t.Errorf("the result is %q", got)
	}
	other.want(0, "", "plan", "-detailed-exitcode")
	r.onceEach(2) // and there again
}

// TestSystemSSHFoldersThatDoNotTakeIt: what keeps muster's program off a host is said
// in words, with the way out, which works.
func TestSystemSSHFoldersThatDoNotTakeIt(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, gated(1, 1))
	h.Exec("mkdir /home/alice/.cache; chown alice: /home/alice/.cache")
	for options, says := range map[string]string{
		"ro":          "cannot be made on h1",
		"size=1m":     "cannot be written to ~/.cache/muster/bin on h1",
		"noexec":      "h1 does not let programs in ~/.cache/muster/bin run",
		"nr_inodes=2": "cannot be made on h1",
		"size=9m":     "cannot be written to ~/.cache/muster/bin on h1",
	} {
		h.Exec("mount -t tmpfs -o mode=777," + options + " tmpfs /home/alice/.cache")
		r.want(1, says, "apply", "-auto-approve")
		r.want(1, "Set install_dir in the backend to a folder of yours on h1 that has room for", "apply", "-auto-approve")
		if left := h.Exec("find /home/alice/.cache -type f"); left != "" {
			t.Errorf("%s: left behind: %s", options, left)
		}
		h.Exec("umount -l /home/alice/.cache") // what ended may still leave
	}
	h.Exec("mount -t tmpfs -o mode=777,ro tmpfs /home/alice/.cache")
	r.write("campaign.muster.hcl", strings.Replace(r.paths(gated(1, 1)), `host    = "h1"`, "host = \"h1\"\n install_dir = \"/srv/alice/bin\"", 1))
	r.want(0, "1 of 1 jobs done", "apply", "-auto-approve")
}
