package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHSharedHome: two hosts with one home, as on NFS. Each has a queue of
// its own in it, one copy of muster's program serves both, and files are seen
// where they are made: nothing moves. A crash of one ends its own jobs only.
func TestSystemSSHSharedHome(t *testing.T) {
	const n = 16
	hosts := lab.Hosts(t, 2)
	text := strings.Replace(gated(n, 0), `host    = "h1"`, "hosts     = [\"h1\", \"h2\"]\n  shared_fs = \"home\"", 1) + `
phase "after" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "cat ${input.x} > ${output.y}"
    input "x" { from = phase.p.output.x }
    output "y" {
      path   = "after/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
`
	home := filepath.Dir(hosts[0].Path("/home/alice"))
	share := func() { hosts[1].Exec("mount --bind " + home + " /home") }
	share()
	r := newRemote(t, hosts[:1], text)
	hosts[0].Exec("mkfifo -m 666 " + r.folder + "/gate")
	f := r.follow("apply", "-auto-approve")
	r.until("all to run", func() bool { return r.count("start") == n })
	if got := hosts[0].Exec("ls /home/alice/.cache/muster/bin | wc -l; ls /home/alice/.local/state/muster/queue | wc -l"); got != "1\n2" {
		t.Errorf("programs and spools: %q", got)
	}
	hosts[1].Crash()
	hosts[1].Start()
	share()
	r.until("its jobs to start again", func() bool { return r.count("start") > n })
	r.open()
	if out, code := f.end(); code != 0 || !strings.Contains(out, fmt.Sprintf("%d of %d jobs done", 2*n, 2*n)) {
		t.Errorf("apply ended with %d:\n%s", code, out)
	}
	again := r.count("start") - n
	t.Logf("%d jobs were on the host that crashed", again)
	if ends := r.count("end"); ends != n || again < 1 || again >= n {
		t.Errorf("%d ends; %d of %d jobs started again", ends, again, n)
	}
	r.want(0, "", "plan", "-detailed-exitcode")
}
