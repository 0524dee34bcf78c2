package host

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestKilledUnderANewQueue: a job that is killed after its queue was killed and
// started again was killed: what its shell says of it is no sign of memory.
func TestKilledUnderANewQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`echo $$ > pid; echo "run.sh: line 3: 77 Killed" >&2; sleep 600`, "out")
	j.Retry = providers.Retry{On: []string{"oom"}, Max: 3, Scale: map[string]providers.Scale{"oom": {Memory: 4}}}
	w.submit(j)
	w.poll("pid", func() bool { return lines(w, "pid") == 1 })
	q := w.queuePID()
	syscall.Kill(q.PID, syscall.SIGKILL)
	w.find(j) // starts another
	kill(t, w.read("pid"))
	if o := w.wait(j)[0]; o.Status != offer.Failed || o.Class != "killed" || o.Attempt != 1 {
		t.Errorf("%+v", o)
	}
}

// TestKilledWithItsQueue: when everything of a user on a host is killed, the jobs
// say so, their phase goes on, and retry.on node_failure covers them.
func TestKilledWithItsQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var jobs []providers.Job
	for range 3 {
		j := w.job(`echo $$ >> pids; if [ -e second ]; then echo > out-$MUSTER_TOKEN; exit 0; fi; sleep 600`, "out")
		j.Shape.CPUs, j.Shape.Memory = 0, 0
		j.Phase, j.Breaker = "p", providers.Breaker{SameError: 3, Share: 0.15}
		j.Outputs = nil
		jobs = append(jobs, j)
	}
	jobs[0].Retry = providers.Retry{On: []string{"node_failure"}, Max: 2}
	w.submit(jobs...)
	w.poll("pids", func() bool { return lines(w, "pids") == 3 })
	if err := os.WriteFile(w.path("second"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	q := w.queuePID()
	syscall.Kill(q.PID, syscall.SIGKILL)
	for killWrapper(w) {
	}
	for _, pid := range strings.Fields(w.read("pids")) {
		kill(t, pid)
	}
	got := w.wait(jobs...)
	if o := got[0]; o.Status != offer.Completed || o.Attempt != 2 {
		t.Errorf("retried: %+v", o)
	}
	for _, o := range got[1:] {
		if o.Status != offer.Failed || o.Class != "node_failure" || !strings.Contains(o.Reason, "muster's queue with them") {
			t.Errorf("%+v", o)
		}
	}
}

// kill ends a process that a job told the id of, if it is still there.
func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(n, syscall.SIGKILL)
}

// lines is how many lines a file has, 0 if it is not there.
func lines(w *world, file string) int {
	text, _ := os.ReadFile(w.path(file))
	return strings.Count(string(text), "\n")
}
