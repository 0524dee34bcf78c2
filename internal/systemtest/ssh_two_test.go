package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// smoked is a campaign whose smoke waits at a gate. The six runs after it wait
// for a condition that only a muster can look at.
const smoked = `
campaign "smoked" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
  cpus    = 64
}
grid "g" { axes = { i = range(6) } }
phase "p" {
  grid   = grid.g
  params = { short = false }
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo start ${cell.i} ${param.short} >> RECORD; [ ! -p FOLDER/gate ] || read x < FOLDER/gate; echo '{\"ok\": 1}' > ${output.x}; echo end ${cell.i} ${param.short} >> RECORD"
    output "x" {
      path   = "out/${cell.i}"
      verify = "json"
    }
    metric "ok" {
      output = "x"
      json   = "/ok"
    }
    resources { walltime = "10m" }
  }
  smoke {
    params = { short = true }
    expect { condition = metric.ok == 1 }
  }
}
`

var lockID = regexp.MustCompile(`muster force-unlock (\w+)`)

// clearLock takes the lease from whoever has it, as the message about it says.
func (w *world) clearLock() {
	w.t.Helper()
	out, code := w.run("apply", "-auto-approve")
	id := lockID.FindStringSubmatch(flat(out))
	if code != 5 || id == nil {
		w.t.Fatalf("exit %d, want 5 and how to clear the lock:\n%s", code, out)
	}
	w.want(0, "", "force-unlock", "-force", id[1])
}

// smokedOnce holds that the smoke and the six runs started and ended once each.
func (r *remote) smokedOnce() {
	r.t.Helper()
	seen := map[string]int{}
	for _, line := range r.lines() {
		seen[line]++
	}
	want := []string{"start 0 true", "end 0 true"}
	for i := range 6 {
		want = append(want, fmt.Sprintf("start %d false", i), fmt.Sprintf("end %d false", i))
	}
	for _, line := range want {
		if seen[line] != 1 {
			r.t.Errorf("%q %d times in the record", line, seen[line])
		}
	}
	if len(seen) != len(want) {
		r.t.Errorf("the record is %q", r.lines())
	}
}

// TestSystemSSHOvertaken: a muster that slept while its lease was cleared and another
// took over, on the same state, does nothing more when it wakes: the jobs are
// the other's, and each runs once.
func TestSystemSSHOvertaken(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, smoked)
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")
	old := r.follow("apply", "-auto-approve")
	r.until("the smoke to run", func() bool { return r.count("start") == 1 })
	if err := old.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.clearLock()
	young := r.follow("apply", "-auto-approve")
	r.until("the other to follow the smoke", func() bool { return strings.Contains(young.said(), "phase.p:") })
	if err := old.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.done(young, 6)
	if out, code := old.end(); code != 5 || !strings.Contains(out, "was taken over") {
		t.Errorf("the older ended with %d:\n%s", code, out)
	}
	r.smokedOnce()
	r.want(0, "", "plan", "-detailed-exitcode")
}

// TestSystemSSHOvertakenByACopy: a copy of the campaign's folder, state and all, is
// taken further on another machine. The host itself refuses what the original
// still sends: it can neither submit nor cancel.
func TestSystemSSHOvertakenByACopy(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, smoked)
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")
	old := r.follow("apply", "-auto-approve")
	r.until("the smoke to run", func() bool { return r.count("start") == 1 })

	other := *r
	copied := *r.world
	copied.dir = filepath.Join(filepath.Dir(r.dir), "copy")
	other.world = &copied
	if err := os.CopyFS(other.dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	other.clearLock()
	other.want(0, "", "hold", "i=5") // each that takes the lease has a greater fence
	other.want(0, "", "resume")
	young := other.follow("apply", "-auto-approve")
	other.until("the copy to follow the smoke", func() bool { return strings.Contains(young.said(), "phase.p:") })

	r.want(0, "", "cancel", "i=0") // noted, for the one that drives
	if out, code := old.end(); code != 5 || !strings.Contains(out, "Another muster has taken over") {
		t.Errorf("the original ended with %d:\n%s", code, out)
	}
	r.want(5, "Another muster has taken over", "cancel", "i=0")
	r.open()
	other.done(young, 6)
	r.smokedOnce()
}

// shared is a campaign of GPU jobs, WHO's, that write down which GPU they hold.
const shared = `
campaign "WHO" {}
backend "ssh" "lab" {
  host    = "h1"
  user    = "USER"
  workdir = "FOLDER/WHO"
}
grid "g" { axes = { i = range(COUNT) } }
phase "p" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "FOLDER/hold WHO ${cell.i} ${output.x}"
    env     = { LAB_GPU_MIB = "4000" }
    output "x" { path = "out/${cell.i}" }
    resources {
      gpus     = 1
      walltime = "5m"
    }
  }
}
`

// hold is the program of such a job: a folder that exists already belongs to
// somebody on the same GPU.
const hold = `#!/bin/sh
mine=FOLDER/held-$CUDA_VISIBLE_DEVICES
mkdir $mine || echo "shared $1 $2" >> RECORD
echo "start $1 $2 $CUDA_VISIBLE_DEVICES" >> RECORD
[ ! -p FOLDER/gate ] || read x < FOLDER/gate
sleep 0.2
echo $2 > $3
rmdir $mine
`

// TestSystemSSHSharedByTwo: two campaigns of one user, driven from two places, and
// one of another user share a host of two GPUs. No GPU has two jobs; each sees
// in status who holds what it waits for; one user's campaigns take turns.
func TestSystemSSHSharedByTwo(t *testing.T) {
	const many, few = 24, 6
	h := lab.Hosts(t, 1)[0]
	h.GPUs(2)
	r := newRemote(t, []*lab.Host{h}, "")
	r.put("hold", hold)
	h.Exec(r.paths("mkfifo -m 666 FOLDER/gate; touch RECORD; chmod 666 RECORD; chmod 777 FOLDER"))
	from := func(who, user string, count int) *remote {
		one := *r
		place := *r.world
		one.world = &place
		one.dir = filepath.Join(filepath.Dir(r.dir), who)
		if err := os.MkdirAll(one.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		one.write("campaign.muster.hcl", strings.NewReplacer("WHO", who, "USER", user, "COUNT", fmt.Sprint(count)).Replace(r.paths(shared)))
		return &one
	}
	long, short, strange := from("long", "alice", many), from("short", "alice", few), from("strange", "bob", few)
	first := long.follow("apply", "-auto-approve")
	r.until("both GPUs to be taken", func() bool { return r.count("start") == 2 })
	second, third := short.follow("apply", "-auto-approve"), strange.follow("apply", "-auto-approve")
	for want, one := range map[string]*remote{`your campaign "long" runs on GPU 0, 1`: short, "GPU 0 is in use by alice (pid ": strange} {
		said := ""
		one.until("who holds what it waits for: "+want, func() bool {
			said, _ = one.run("status", "-refresh")
			return strings.Contains(flat(said), want)
		})
		if !strings.Contains(flat(said), want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	r.open()
	long.done(first, many)
	short.done(second, few)
	strange.done(third, few)

	starts, last := map[string]int{}, 0
	for _, line := range r.lines() {
		f := strings.Fields(line)
		if f[0] == "shared" {
			t.Errorf("a GPU was given out twice: %s", line)
			continue
		}
		starts[f[1]]++
		if f[1] == "short" {
			last = starts["long"]
		}
	}
	if starts["long"] != many || starts["short"] != few || starts["strange"] != few {
		t.Errorf("starts by campaign: %v", starts)
	}
	// Two had started before it came; then the two take turns.
	if last > 2+few+2 {
		t.Errorf("the short campaign's last job started after %d of the long one's", last)
	}
}
