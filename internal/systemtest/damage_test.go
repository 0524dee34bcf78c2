package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/state/journal"
)

// samples is at how many places each file is cut, and at how many flipped.
const samples = 12

// Each file of a state that a kill left behind is cut off and flipped at
// sampled bytes: plan gives the plan of the whole state, or an error that
// names the file and says what to run.
func TestSystemDamagedStateThroughTheCommandLine(t *testing.T) {
	w := newWorld(t, jobs(8, "true"))
	w.want(0, "8 of 8", "apply", "-auto-approve")
	w.write("campaign.muster.hcl", strings.Replace(w.campaign(), "range(8)", "range(16)", 1))
	w.killed(16)
	whole, code := w.run("plan", "-json")
	if code != 0 {
		t.Fatal(whole)
	}
	right := w.verdict()
	for _, path := range w.files("muster.state.*") {
		name := filepath.Base(path)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range samples {
			at := i * len(good) / samples
			w.damaged(name, good[:at], right, "cut")
			b := bytes.Clone(good)
			if len(b) > 0 {
				b[at] ^= 0x12
			}
			w.damaged(name, b, right, "flipped")
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.want(0, "16 of 16", "apply", "-auto-approve")
	w.ranOnce(16)
}

// killed runs an apply and kills it when its journal holds some events, after which the
// submitted jobs end by themselves. Events that were written and not acknowledged yet may be
// lost, so it is killed while there are none.
func (w *world) killed(n int) {
	w.t.Helper()
	d := w.start("apply", "-auto-approve")
	w.started(n - 4)
	w.until("all events are acknowledged", func() bool {
		w.signal(syscall.SIGSTOP)
		if w.acknowledged() {
			return true
		}
		w.signal(syscall.SIGCONT)
		return false
	})
	w.signal(syscall.SIGKILL)
	d.end()
	w.until("the queue is done", func() bool { return len(w.processes()) == 0 })
}

// signal sends a signal to the engine and its providers.
func (w *world) signal(number syscall.Signal) {
	for _, p := range w.processes() {
		if p.role == "engine" || p.role == "provider" {
			syscall.Kill(p.pid, number)
		}
	}
}

// acknowledged reports whether the lease acknowledges every event of the journal, or there is
// none.
func (w *world) acknowledged() bool {
	w.t.Helper()
	for _, path := range w.files("muster.state.journal.*") {
		b, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		j, err := journal.Parse(path, b)
		if err != nil {
			return false
		}
		lease, err := os.ReadFile(filepath.Join(w.dir, "muster.state.lock"))
		if err != nil || !regexp.MustCompile(fmt.Sprintf(`"acked": *%d,`, j.Last())).Match(lease) {
			return false
		}
	}
	return true
}

// verdict is the line of the plan that sums it up.
func (w *world) verdict() string {
	w.t.Helper()
	out, code := w.run("plan")
	if code == 0 {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "Plan:") || strings.HasPrefix(line, "Nothing to do") {
				return line
			}
		}
	}
	return flat(out)
}

func (w *world) damaged(name string, b []byte, right, how string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	got := w.verdict()
	if got == right {
		return
	}
	way := strings.Contains(got, `run "`) || strings.Contains(got, "Put the file back") || strings.Contains(got, "Put it back") || strings.Contains(got, "force-unlock")
	if !strings.HasPrefix(got, "Error:") || !strings.Contains(got, filepath.Join(w.dir, "muster.state.")) || !way {
		w.t.Errorf("%s %s to or at byte %d: plan says %q, want %q or an error with the way out", name, how, len(b), got, right)
	}
}

// An output that nobody reads, gone or cut by others, is told by the plan and
// made again when asked for.
func TestSystemOutputsAreTouched(t *testing.T) {
	for name, c := range map[string]struct {
		touch func(path string) error
		told  string
	}{
		"deleted":   {os.Remove, "? missing 1 p-i=2"},
		"truncated": {func(path string) error { return os.Truncate(path, 0) }, "≠ output changed 1 p-i=2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobs(4, "true"))
			w.want(0, "4 of 4", "apply", "-auto-approve")
			if err := c.touch(filepath.Join(w.dir, "out", "2")); err != nil {
				t.Fatal(err)
			}
			w.want(0, c.told, "plan", "-detailed-exitcode")
			w.want(0, "done and verified", "apply", "-auto-approve", "-allow-rerun", "-rerun=i=2")
			w.want(0, "Nothing to do: 4 jobs", "plan", "-detailed-exitcode")
		})
	}
}

// A backup in the snapshot's place is no older truth: what was folded since
// comes back from the history.
func TestSystemBackupInTheSnapshotsPlace(t *testing.T) {
	w := newWorld(t, jobs(4, "true"))
	w.want(0, "4 of 4", "apply", "-auto-approve")
	path := filepath.Join(w.dir, "muster.state.json")
	os.Remove(path)
	w.want(1, "muster.state.json.backup", "plan")
	if err := os.Rename(path+".backup", path); err != nil {
		t.Fatal(err)
	}
	w.want(0, "Nothing to do: 4 jobs", "plan")
	w.want(0, "4 of 4", "apply", "-auto-approve")
	w.ranOnce(4)
}
