package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/failure"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
)

// TestLaunchedTwice: a controller that forgot that it had launched a job launches
// it again under its id. The command does not run again, and Slurm is told what
// the first launch comes to.
func TestLaunchedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo >> ran; while [ ! -e go ]; do sleep 0.05; done; echo '{}' > r.json", "r.json")
	if err := w.batch.Write([]Element{{Job: j}}); err != nil {
		t.Fatal(err)
	}
	at := place{job: "5", node: "n1"}
	codes := make(chan int, 2)
	begin := func() {
		code, err := run(w.batch, at)
		if err != nil {
			t.Error(err)
		}
		codes <- code
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for !done() {
			select {
			case code := <-codes:
				t.Fatalf("it ended with %d before %s", code, what)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	go begin()
	until("its start", func() bool { return w.ran() == 1 })
	go begin()
	until("the second one", func() bool { return len(w.spool.Duplicates(j.Token)) == 1 })
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, b := <-codes, <-codes; a != 0 || b != 0 || w.ran() != 1 {
		t.Errorf("they ended with %d and %d; the command ran %d times", a, b, w.ran())
	}
	begin()
	if code := <-codes; code != 0 || w.ran() != 1 {
		t.Errorf("after its end it is %d; the command ran %d times", code, w.ran())
	}
}

// TestLaunchedTwiceAndGone: where the first launch is gone without a word the
// second one tells its end; where it cannot be seen nothing is told.
func TestLaunchedTwiceAndGone(t *testing.T) {
	t.Parallel()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead := &proc.ID{PID: gone.Process.Pid, Start: 1}
	for name, tt := range map[string]struct {
		first Begin
		told  bool
		code  int
	}{
		"gone":           {Begin{ID: "5", Node: "n1", Process: dead}, true, 1},
		"not known":      {Begin{ID: "5", Node: "n1"}, false, ExitRefused},
		"elsewhere":      {Begin{ID: "5", Node: "n2", Process: dead}, false, ExitRefused},
		"another's copy": {Begin{ID: "6", Node: "n1", Process: dead}, false, ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			tt.first.Token, tt.first.At = j.Token, time.Now().Add(-time.Minute)
			if got, err := w.spool.take(tt.first); got != claimed || err != nil {
				t.Fatal(got, err)
			}
			if err := writeJSON(w.spool.path("starts", RecordName(j.Token, 0)), tt.first); err != nil {
				t.Fatal(err)
			}
			code, e := w.run(j, place{job: "5", node: "n1"})
			if code != tt.code || w.ran() != 0 {
				t.Errorf("it ended with %d, want %d; the command ran %d times", code, tt.code, w.ran())
			}
			if told := e.Final && e.Seen.Status == offer.Failed && e.Seen.Class == failure.NodeFailure && strings.Contains(e.Seen.Reason, "forgot"); told != tt.told {
				t.Errorf("the end told is %+v", e)
			}
		})
	}
}
