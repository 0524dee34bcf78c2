package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab/vm"
)

// A machined world's jobs run on a virtual machine, whose files are reached
// over ssh alone. RECORD and FOLDER are paths there.
type machined struct {
	*world
	vm     *vm.Machine
	folder string
}

// onMachine makes a world whose ssh knows the machine by its name.
func onMachine(t *testing.T, m *vm.Machine, campaign string) *machined {
	t.Helper()
	r := &machined{vm: m, folder: "/home/alice/" + strings.ToLower(strings.ReplaceAll(filepath.Base(t.Name()), " ", "-"))}
	m.Exec("mkdir -p " + r.folder + "/work && chown -R alice: " + r.folder)
	r.world = newWorld(t, strings.NewReplacer("RECORD", r.folder+"/record", "FOLDER", r.folder).Replace(campaign))
	home := filepath.Join(filepath.Dir(r.dir), "home")
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	return r
}

// record is the jobs' own record, as words of lines.
func (r *machined) record() [][]string {
	r.t.Helper()
	var out [][]string
	for line := range strings.Lines(r.vm.Exec("cat " + r.folder + "/record 2>/dev/null || true")) {
		out = append(out, strings.Fields(line))
	}
	return out
}

// recorded are the times since boot, in seconds, at which a job did something.
func (r *machined) recorded(what, job string) []float64 {
	r.t.Helper()
	var out []float64
	for _, w := range r.record() {
		if len(w) == 3 && w[0] == what && w[1] == job {
			up, err := time.ParseDuration(w[2] + "s")
			if err != nil {
				r.t.Fatalf("a torn line in the record: %q", w)
			}
			out = append(out, up.Seconds())
		}
	}
	return out
}

// await waits until a job has done something, while a driver is at it.
func (r *machined) await(d *follower, what, job string, times int) {
	r.t.Helper()
	r.until(what+" of "+job, func() bool {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.Process.Pid)); bytes.Contains(stat, []byte(") Z ")) {
			out, code := d.end()
			r.t.Fatalf("before %s of %s, muster ended with %d:\n%s", what, job, code, out)
		}
		defer time.Sleep(200 * time.Millisecond) // each look is a login on a slow machine
		return len(r.recorded(what, job)) >= times
	})
}

// answered waits until the machine, emulated and slow, has answered all that a
// plan asks within the time that muster gives it.
func (r *machined) answered() {
	r.t.Helper()
	r.until("answers to all that a plan asks", func() bool {
		_, code := r.run("plan")
		return code == 0
	})
}
