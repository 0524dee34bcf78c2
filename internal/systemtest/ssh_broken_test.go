package systemtest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// gated is a campaign of n jobs that all start at once, write that down, and
// wait for the test to open the gate; the first quick ones do not wait.
func gated(n, quick int) string {
	return fmt.Sprintf(`
campaign "gated" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
  cpus    = 64
}
grid "g" { axes = { i = range(%d) } }
phase "p" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo start ${cell.i} >> RECORD; [ ${cell.i} -lt %d ] || [ ! -p FOLDER/gate ] || read x < FOLDER/gate; echo ${cell.i} > ${output.x}; echo end ${cell.i} >> RECORD"
    output "x" {
      path   = "out/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["killed", "node_failure"]
    max_attempts = 3
  }
  breaker {
    same_error = 0
    share      = 1
  }
}
`, n, quick)
}

// gate begins an apply of n gated jobs and waits until all of them run.
func gate(t *testing.T, h *lab.Host, n, quick int) (*remote, *follower) {
	t.Helper()
	r := newRemote(t, []*lab.Host{h}, gated(n, quick))
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")
	d := r.follow("apply", "-auto-approve")
	r.until(fmt.Sprintf("%d starts", n), func() bool { return r.count("start") >= n && r.count("end") >= quick })
	return r, d
}

// open lets the jobs at the gate go on, and those that come. A pipe that is
// opened for both reading and writing waits for nobody, and wakes who waits.
func (r *remote) open() {
	r.t.Helper()
	r.openGate("gate")
}

func (r *remote) openGate(name string) {
	r.t.Helper()
	r.host.Exec(fmt.Sprintf("mv %[1]s/%[2]s %[1]s/opened-%[2]s && exec 3<>%[1]s/opened-%[2]s", r.folder, name))
}

func (r *remote) count(what string) int {
	n := 0
	for _, line := range r.lines() {
		if strings.HasPrefix(line, what+" ") {
			n++
		}
	}
	return n
}

// onceEach holds that n jobs started and ended once each, that none is left,
// and that another apply starts none.
func (r *remote) onceEach(n int) {
	r.t.Helper()
	r.recorded(func(i int) (starts, ends int) { return 1, 1 }, n)
}

// recorded holds how often each job started and ended.
func (r *remote) recorded(want func(i int) (starts, ends int), n int) {
	r.t.Helper()
	r.want(0, "", "plan", "-detailed-exitcode")
	r.want(0, "", "apply", "-auto-approve")
	starts, ends := make([]int, n), make([]int, n)
	for _, line := range r.lines() {
		var what string
		var i int
		if _, err := fmt.Sscan(line, &what, &i); err != nil || i < 0 || i >= n {
			r.t.Fatalf("a torn line in the record: %q", line)
		}
		if what == "start" {
			starts[i]++
		} else {
			ends[i]++
		}
	}
	for i := range n {
		if s, e := want(i); starts[i] != s || ends[i] != e {
			r.t.Errorf("job %d started %d times and ended %d times, want %d and %d", i, starts[i], ends[i], s, e)
		}
	}
}

// done holds that a driver ended with everything done.
func (r *remote) done(d *follower, n int) {
	r.t.Helper()
	if out, code := d.end(); code != 0 || !strings.Contains(out, fmt.Sprintf("%d of %d jobs done", n, n)) {
		r.t.Errorf("apply ended with %d:\n%s", code, out)
	}
}

// TestSystemSSHBroken breaks everything between muster and running jobs: nothing runs again,
// nothing is lost, and the same apply or the next one continues.
func TestSystemSSHBroken(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	const many = 50

	for name, link := range map[string][2]func(){
		"cut": {h.Cut, h.Heal}, "dropped": {h.Drop, h.Heal}, "sshd restarted": {h.StopSSHD, h.StartSSHD}, "frozen": {h.Freeze, h.Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := gate(t, h, many, 0)
			link[0]()
			r.until("word of the loss", func() bool { return strings.Contains(f.said(), "was lost") })
			if name != "frozen" {
				r.open()
				r.until("the jobs' ends, with nobody watching", func() bool { return r.count("end") == many })
			}
			link[1]()
			if name == "frozen" {
				r.open()
			}
			r.done(f, many)
			r.onceEach(many)
		})
	}
	t.Run("muster killed", func(t *testing.T) {
		r, f := gate(t, h, many, 0)
		r.end() // kills whatever is muster's here, without a word
		f.Wait()
		r.open()
		r.until("the jobs' ends, with nobody there", func() bool { return r.count("end") == many })
		r.done(r.follow("apply", "-auto-approve"), many)
		r.onceEach(many)
	})
	t.Run("two at once", func(t *testing.T) {
		r, f := gate(t, h, 12, 0)
		r.want(5, "", "apply", "-auto-approve")
		r.open()
		r.done(f, 12)
		r.onceEach(12)
	})
	t.Run("queue killed", func(t *testing.T) {
		r, f := gate(t, h, many, 0)
		h.Exec("pkill -KILL -f 'muster-host-[^ ]* queue'")
		r.open()
		r.done(f, many)
		r.onceEach(many)
	})
	t.Run("its temporary files cleaned", func(t *testing.T) {
		r, f := gate(t, h, 12, 0)
		// The lab's own folder is mounted there, too.
		h.Exec("find /tmp /var/tmp /dev/shm /run/user -mindepth 1 -maxdepth 1 ! -name 'muster-lab-*' -exec rm -rf {} +")
		r.open()
		r.done(f, 12)
		r.onceEach(12)
	})
	t.Run("jobs killed", func(t *testing.T) {
		r, f := gate(t, h, 12, 0)
		h.Exec(`for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ 2>/dev/null | grep -qE '^MUSTER_ADDRESS=phase.p."i=(3|7)"' && kill -KILL ${p#/proc/} 2>/dev/null; done; true`)
		r.until("another start of both", func() bool { return r.count("start") == 14 })
		r.open()
		r.done(f, 12)
		r.recorded(func(i int) (int, int) {
			if i == 3 || i == 7 {
				return 2, 1
			}
			return 1, 1
		}, 12)
	})
}

var inDays = regexp.MustCompile(`[0-9]d `)

// TestSystemSSHCrashed: a power cut ends what ran, and only that runs again, once
// the host is back; that it booted is told.
func TestSystemSSHCrashed(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	const n, quick = 12, 4
	r, f := gate(t, h, n, quick)
	h.Crash()
	r.until("word of the loss", func() bool { return strings.Contains(f.said(), "was lost") })
	h.Start()
	r.until("the second starts", func() bool { return r.count("start") == 2*n-quick })
	r.open()
	r.done(f, n)
	r.recorded(func(i int) (int, int) {
		if i < quick {
			return 1, 1
		}
		return 2, 1
	}, n)
	if out, _ := r.run("report"); inDays.MatchString(out) {
		t.Errorf("a wait of days:\n%s", out)
	}
	if said := f.said(); !strings.Contains(said, "machine rebooted: 8 jobs were running on h1") {
		t.Errorf("the reboot is not told: %s", said)
	}
}

// TestSystemSSHChangedHostKey: somebody else may be answering.
func TestSystemSSHChangedHostKey(t *testing.T) {
	// Requirement: ACC-05
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, gated(1, 1))
	h.NewKey()
	for _, text := range []string{"has changed", h.KnownHosts + ":1 has ed25519 SHA256:", "the host shows ed25519 SHA256:"} {
		r.want(1, text, "apply", "-auto-approve")
	}
	if n := len(r.lines()); n != 0 {
		t.Errorf("something ran: %v", r.lines())
	}
}

// TestSystemSSHDiskFull: what did not fit is held and said, what did stays, and
// with more room only the rest runs.
func TestSystemSSHDiskFull(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, strings.ReplaceAll(gated(4, 4), "echo ${cell.i} > ${output.x};", "head -c 100k /dev/zero > ${output.x} &&"))
	h.Exec(r.paths("mkdir FOLDER/work && mount -t tmpfs -o size=256k,mode=777 tmpfs FOLDER/work"))
	r.want(3, "failed", "apply", "-auto-approve")
	fit := r.count("end")
	if fit == 0 || fit == 4 {
		t.Fatalf("%d of 4 files fit on the disk", fit)
	}
	out, code := r.run("apply", "-auto-approve")
	if said := strings.Join(strings.Fields(out), " "); code != 3 || !strings.Contains(said, "disk_full, the disk of its workdir takes nothing more, not even its log; make room, then resume") {
		t.Errorf("on a full disk: exit %d\n%s", code, out)
	}
	if n := r.count("start"); n != 4 {
		t.Errorf("%d starts, want 4: on a full disk nothing is tried again", n)
	}
	h.Exec(r.paths("mount -o remount,size=4m FOLDER/work"))
	r.want(0, "", "resume")
	r.want(0, "4 of 4 jobs done", "apply", "-auto-approve")
	if starts, ends := r.count("start"), r.count("end"); starts != 8-fit || ends != 4 {
		t.Errorf("%d starts and %d ends, %d files had fit", starts, ends, fit)
	}
	r.want(0, "", "plan", "-detailed-exitcode")
}
