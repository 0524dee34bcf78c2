package systemtest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

const copied = `
campaign "copied" {}
backend "ssh" "one" {
  host    = "h1"
  workdir = "FOLDER/work"
}
backend "ssh" "two" {
  host    = "h2"
  workdir = "FOLDER/work"
}
phase "make" {
  place { candidates = [backend.ssh.one] }
  job {
    command = "head -c 64M /dev/urandom > ${output.x}; echo start 0 >> RECORD"
    output "x" { path = "big" }
  }
}
phase "use" {
  place { candidates = [backend.ssh.two] }
  job {
    command = "sha256sum < ${input.x} > ${output.y}; echo start 1 >> RECORD"
    input "x" { from = phase.make.output.x }
    output "y" { path = "sum" }
  }
}
`

// TestSystemSSHCopyCut: the link of a host is cut while a file is copied from it to
// another. The copy resumes where it was, says so, and the file is whole.
func TestSystemSSHCopyCut(t *testing.T) {
	const mib = 1 << 20
	hosts := lab.Hosts(t, 2)
	r := newRemote(t, hosts, copied)
	relay := lab.NewRelay(t, hosts[0].Addr+":22", 0, 12*mib) // so that there is a midst
	r.through(relay)
	there := func() (largest int64) {
		_ = filepath.WalkDir(hosts[1].Path(r.folder), func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if info, err := e.Info(); err == nil {
					largest = max(largest, info.Size())
				}
			}
			return nil
		})
		return largest
	}
	f := r.follow("apply", "-auto-approve")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("apply said %s", f.text())
		}
	})
	r.until("the copy to be on its way", func() bool { return there() > 24*mib })
	before := relay.Carried()
	hosts[0].Cut()
	if there() == 64*mib {
		t.Fatal("the copy was faster than the cut")
	}
	r.until("word of the cut", func() bool { return strings.Contains(f.said(), "backend.ssh.one: cannot be reached") })
	hosts[0].Heal()
	r.done(f, 2)
	if !strings.Contains(f.said(), "big resumes at ") {
		t.Error("it does not say that the copy resumes")
	}
	if !strings.Contains(f.said(), "backend.ssh.one: answers again") {
		t.Error("it does not say that the host answers again")
	}
	sum := func(h *lab.Host, command string) string { return h.Exec("cd " + r.folder + "/work; " + command) }
	if here, want := sum(hosts[1], "cat sum"), sum(hosts[0], "sha256sum < big"); here != want {
		t.Errorf("the copy has digest %s, want %s", here, want)
	}
	if got := relay.Carried() - before; got > 52*mib {
		t.Errorf("after the cut %d MiB went over, of a file of which 24 of 64 were there", got/mib)
	}
	if got := hosts[1].Exec("cat " + r.folder + "/record"); got != "start 1" {
		t.Errorf("on the host that the file went to ran %q", got)
	}
}
