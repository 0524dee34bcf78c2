package systemtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab/vm"
)

const onArm = `
campaign "arm" {}
backend "ssh" "lab" {
  host    = "vm"
  workdir = "FOLDER/work"
  cpus    = 4
}
locals {
  note = "note() { read -r up rest < /proc/uptime; echo $1 $2 $up >> RECORD; }; "
}
grid "g" { axes = { i = range(4) } }
phase "train" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start train${cell.i}; [ ${cell.i} != 0 ] || until [ -e FOLDER/gate ]; do sleep 0.1; done; uname -m > ${output.machine}; echo '{\"loss\": 0.${cell.i}5}' > ${output.scores}; note end train${cell.i}"
    output "machine" {
      path   = "train/${cell.i}/machine"
      verify = "nonempty"
    }
    output "scores" {
      path   = "train/${cell.i}/scores.json"
      verify = "json"
    }
    metric "loss" {
      output  = "scores"
      json   = "/loss"
    }
    resources { walltime = "10m" }
  }
}
phase "after" {
  grid  = grid.g
  depends_on = [phase.train]
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start after${cell.i}; [ ${cell.i} != 1 ] || [ $(grep -c 'start after1' RECORD) -ge 2 ] || exit 75; echo '{' > ${output.scores}; [ ${cell.i} = 2 ] || echo '}' >> ${output.scores}; note end after${cell.i}"
    output "scores" {
      path   = "after/${cell.i}.json"
      verify = "json"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["unknown"]
    max_attempts = 2
    delay        = "1s"
  }
}
`

// TestSystemSSHArm64: a host with another processor than this machine's is sent the
// program for it, whole or again, and its queue runs a campaign while muster
// is killed: wrapper, claims, retries, and outputs that are opened there.
func TestSystemSSHArm64(t *testing.T) {
	m := vm.Boot(t, vm.Options{Name: "vm", Arch: "arm64"})
	r := onMachine(t, m, onArm)
	r.want(0, "slots free", "backends", "lab")
	const program = "/home/alice/.cache/muster/bin/muster-host-*"
	r.programIs(program)

	m.Exec("f=$(echo " + program + ") && head -c 100000 $f > /tmp/cut && cat /tmp/cut > $f")
	r.want(0, "slots free", "backends", "lab")
	r.programIs(program)

	r.answered()
	f := r.follow("apply", "-auto-approve")
	r.await(f, "end", "train3", 1)
	r.end() // kills whatever is muster's here, without a word
	f.Wait()
	m.Exec("touch " + r.folder + "/gate")
	out, code := r.follow("apply", "-auto-approve").end()
	if code != 3 || !strings.Contains(out, "7 of 8 jobs done") {
		t.Errorf("apply ended with %d:\n%s", code, out)
	}
	r.want(0, "json: unexpected end", "status", "phase.after")
	for i := range 4 {
		job := fmt.Sprint("train", i)
		if s, e := r.recorded("start", job), r.recorded("end", job); len(s) != 1 || len(e) != 1 {
			t.Errorf("%s started %d times and ended %d times, want once", job, len(s), len(e))
		}
	}
	if n := len(r.recorded("start", "after1")); n != 2 {
		t.Errorf("the one that is tried again started %d times, want 2", n)
	}
	if got := m.Exec("cat " + r.folder + "/work/train/*/machine | sort -u"); got != "aarch64" {
		t.Errorf("the jobs ran on %q", got)
	}
	r.want(0, "0.35", "report", "-json")
	r.want(0, "", "plan", "-detailed-exitcode")

	r.want(0, "", "backends", "-cleanup")
	r.until("the queue to leave with its spool", func() bool {
		return m.Exec("ls -A /home/alice/.cache/muster/bin /home/alice/.local/state/muster 2>/dev/null || true") == ""
	})
}

// programIs fails unless one program is on the machine, for its processor, with its digest in
// its name.
func (r *machined) programIs(path string) {
	r.t.Helper()
	const aarch64 = "00b7" // e_machine, elf(5)
	if got := r.vm.Exec("od -An -tx2 -j18 -N2 " + path + " | tr -d ' '"); got != aarch64 {
		r.t.Fatalf("the program there is for processor %q, want %q", got, aarch64)
	}
	digest, name, _ := strings.Cut(r.vm.Exec("sha256sum "+path), " ")
	if _, short, _ := strings.Cut(name, "muster-host-"); short == "" || !strings.HasPrefix(digest, short) {
		r.t.Fatalf("%s has the digest %s", name, digest)
	}
}
