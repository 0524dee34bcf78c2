package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHSeveralHosts: jobs spread over the hosts of a backend. One whose link
// is cut leaves its jobs unknown: the other carries on, and nothing of the
// first is started there a second time.
func TestSystemSSHSeveralHosts(t *testing.T) {
	hosts := lab.Hosts(t, 2)
	const n = 24
	r := newRemote(t, hosts, strings.Replace(gated(n, 0), `host    = "h1"`, `hosts   = ["h1", "h2"]`, 1))
	var at []*remote // the same world, as each host sees it
	for _, h := range hosts {
		one := *r
		one.host = h
		h.Exec("mkfifo -m 666 " + r.folder + "/gate")
		at = append(at, &one)
	}
	f := r.follow("apply", "-auto-approve")
	r.until("all to start", func() bool { return at[0].count("start")+at[1].count("start") == n })
	one, two := at[0].count("start"), at[1].count("start")
	if one == 0 || two == 0 {
		t.Errorf("%d jobs on one host, %d on the other", one, two)
	}
	hosts[1].Cut()
	at[0].open()
	r.until("the first host's ends", func() bool { return at[0].count("end") == one })
	r.until("word of the loss", func() bool { return strings.Contains(f.said(), "connection to h2") })
	r.until("its jobs to be unknown", func() bool {
		out, _ := r.run("status")
		return strings.Contains(out, fmt.Sprintf("%d unknown", two)) && strings.Contains(out, "last seen running")
	})
	at[1].open()
	r.until("the second host's ends", func() bool { return at[1].count("end") == two })
	hosts[1].Heal()
	r.done(f, n)
	seen := map[string]int{}
	for _, line := range append(at[0].lines(), at[1].lines()...) {
		seen[line]++
	}
	for i := range n {
		if s, e := seen[fmt.Sprintf("start %d", i)], seen[fmt.Sprintf("end %d", i)]; s != 1 || e != 1 {
			t.Errorf("job %d started %d times and ended %d times", i, s, e)
		}
	}
	r.want(0, "", "plan", "-detailed-exitcode")
}

// TestSystemSSHLidClosed: after -detach, a host's queue alone starts jobs that waited, retries
// those that ran out of memory, and verifies. Jobs that wait for a failed job do not start,
// and nothing else waits with them.
func TestSystemSSHLidClosed(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, `
campaign "lid" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
}
grid "g" { axes = { i = range(6) } }
phase "first" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "[ ! -p FOLDER/gate ] || read x < FOLDER/gate; echo first ${cell.i} >> RECORD; [ ${cell.i} != 5 ] || exit 7; echo ${cell.i} > ${output.x}"
    output "x" {
      path   = "first/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "5m" }
  }
}
phase "second" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo second ${cell.i} >> RECORD; test $MUSTER_ATTEMPT = 2 || { echo 'CUDA out of memory' >&2; exit 1; }; cat ${input.x} > ${output.y}"
    input "x" { from = phase.first.output.x }
    output "y" {
      path   = "second/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "5m" }
  }
  retry {
    on           = ["oom"]
    max_attempts = 2
    delay        = "1s"
  }
}
`)
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")
	r.want(0, "", "apply", "-auto-approve", "-detach")
	if left := r.processes(); len(left) > 0 {
		t.Errorf("something of muster's still runs here: %v", left)
	}
	h.Cut()
	r.open()
	r.until("the queue's own end of it", func() bool { return r.count("first") == 6 && r.count("second") >= 10 })
	h.Heal()
	r.want(3, "10 of 12 jobs done and verified, 1 failed, 1 blocked", "apply", "-auto-approve")
	if first, second := r.count("first"), r.count("second"); first != 6 || second != 10 || strings.Contains(strings.Join(r.lines(), ","), "second 5") {
		t.Errorf("%d and %d starts, want 6 and 10, none of second 5: %q", first, second, r.lines())
	}
}

// TestSystemSSHFirstContact: every obstacle between a new user and a host is reported with the
// command that removes it.
func TestSystemSSHFirstContact(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, gated(1, 1))
	config := os.Getenv("HOME") + "/.ssh/config"
	set := func(lines string) {
		t.Helper()
		text := "Host h1\n HostName " + h.Addr + "\n User alice\n GlobalKnownHostsFile /dev/null\n ConnectTimeout 2\n" + lines
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := " UserKnownHostsFile " + h.KnownHosts + "\n"
	set(known)
	r.want(0, "ssh-add", "backends")
	r.want(1, "add a key to the agent with ssh-add, or name one with IdentityFile", "apply", "-auto-approve")
	set(" IdentityFile " + h.Key + "\n")
	r.want(1, "host key of h1 ("+h.Addr+":22) is not known", "apply", "-auto-approve")
	r.want(1, "ssh h1; or set accept_new = true", "apply", "-auto-approve")
	r.write("campaign.muster.hcl", strings.Replace(r.paths(gated(1, 1)), `host    = "h1"`, "host = \"h1\"\n accept_new = true", 1))
	r.want(0, "1 of 1 jobs done", "apply", "-auto-approve")
	if out, err := exec.Command("ssh-keygen", "-F", h.Addr, "-f", os.Getenv("HOME")+"/.ssh/known_hosts").CombinedOutput(); err != nil {
		t.Errorf("ssh does not find the key that was accepted: %v\n%s", err, out)
	}
	h.Crash()
	r.want(0, "cannot reach h1 ("+h.Addr+":22)", "plan")
}
