package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestLaunchedTwice: a controller that forgot that it had launched a job launches
// it again under its id. The command does not run again, and Slurm is told what
// the first launch comes to.
func TestLaunchedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo >> ran; while [ ! -e go ]; do sleep 0.1; done; echo '{}' > r.json", "r.json")
	if err := w.batch.Write([]Element{{Job: j}}); err != nil {
		t.Fatal(err)
	}
	at := allocation{scheduler: cluster.Node{}, job: "5", node: "n1"}
	codes := make(chan int, 2)
	begin := func() {
		code, err := run(w.batch, at, at.element())
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
// second one tells its end, as where its node has come up since; where it cannot be
// seen nothing is told.
func TestLaunchedTwiceAndGone(t *testing.T) {
	bin, booted := t.TempDir(), time.Now().Add(30*time.Minute)
	program.Write(t, filepath.Join(bin, "scontrol"), fmt.Sprintf(`#!/bin/sh
[ "$*" = "-o show node n3" ] && [ "$SLURM_TIME_FORMAT" = %%s ] || { echo "NodeName=n2 BootTime=1 LastBusyTime=1"; exit; }
echo "NodeName=n3 State=IDLE BootTime=%d LastBusyTime=1"
`, booted.Unix()))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
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
		"gone":                      {Begin{ID: "5", Node: "n1", Process: dead}, true, 1},
		"not known":                 {Begin{ID: "5", Node: "n1"}, false, ExitRefused},
		"elsewhere":                 {Begin{ID: "5", Node: "n2", Process: dead}, false, ExitRefused},
		"elsewhere, and it came up": {Begin{ID: "5", Node: "n3", Process: dead}, true, 1},
		"another's copy":            {Begin{ID: "6", Node: "n1", Process: dead}, false, ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			j := w.job("echo >> ran")
			tt.first.Token, tt.first.At = j.Token, time.Now().Add(-time.Minute)
			if got, err := w.spool.take(tt.first); got != claimed || err != nil {
				t.Fatal(got, err)
			}
			if err := writeJSON(w.spool.path("starts", RecordName(j.Token, 0)), tt.first); err != nil {
				t.Fatal(err)
			}
			code, e := w.run(j, allocation{job: "5", node: "n1"})
			if code != tt.code || w.ran() != 0 {
				t.Errorf("it ended with %d, want %d; the command ran %d times", code, tt.code, w.ran())
			}
			if told := e.Final && e.Seen.Status == offer.Failed && e.Seen.Class == failure.NodeFailure && strings.Contains(e.Seen.Reason, "launched it twice"); told != tt.told {
				t.Errorf("the end told is %+v", e)
			}
		})
	}
}

// TestLaunchedTwiceAndEnded: what Slurm tells the second launch is for the first,
// of which it knows nothing.
func TestLaunchedTwiceAndEnded(t *testing.T) {
	w := newWorld(t)
	j := w.job("echo >> ran")
	_, first := w.outlived(j.Token, "n1")
	codes := make(chan int, 1)
	go func() {
		code, _ := w.run(j, allocation{job: "5", node: "n1"})
		codes <- code
	}()
	w.until("it follows", func() bool { return len(w.spool.Duplicates(j.Token)) == 1 })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.until("the first to end", func() bool { return first.Process.Signal(syscall.Signal(0)) != nil })
	if _, err := os.Stat(filepath.Join(w.dir, "told")); err != nil {
		t.Error("the first was not told to end")
	}
	if code := <-codes; code != 1 || w.ran() != 0 {
		t.Errorf("it ended with %d; the command ran %d times", code, w.ran())
	}
	if e, err := w.spool.ReadEnd(j.Token, 0); err == nil {
		t.Errorf("an end was told that Slurm knows better: %+v", e)
	}
}

// TestLaunchedTwiceAfterItsEnd: where Slurm forgot the end of the first launch it
// is told again: a requeue that the first had asked for, or that something had
// ended it without its doing.
func TestLaunchedTwiceAfterItsEnd(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	program.Write(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\necho \"$@\" >> "+said+"\n[ \"$1\" != requeue ] || kill -TERM $PPID\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	exit := 143
	for name, tt := range map[string]struct {
		end   End
		retry []string
		class string
		again bool
	}{
		"requeued":              {End{Seen: offer.Observation{Status: offer.Waiting, Class: failure.OOMHost, Exit: &exit}}, []string{failure.OOM}, failure.OOMHost, true},
		"ended, which is one":   {End{Outside: true, Seen: offer.Observation{Status: offer.Failed, Class: failure.Killed, Exit: &exit}}, []string{failure.NodeFailure}, failure.NodeFailure, true},
		"ended, and that is it": {End{Outside: true, Seen: offer.Observation{Status: offer.Failed, Class: failure.Killed, Exit: &exit}}, nil, failure.NodeFailure, false},
		"failed":                {End{Final: true, Seen: offer.Observation{Status: offer.Failed, Class: failure.Unknown, Exit: &exit}}, []string{failure.NodeFailure}, failure.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(said)
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry = providers.Retry{On: tt.retry, Max: 3}
			begin := Begin{Token: j.Token, ID: "5", At: time.Now()}
			if got, err := w.spool.take(begin); got != claimed || err != nil {
				t.Fatal(got, err)
			}
			tt.end.Begin = begin
			if err := errors.Join(writeJSON(w.spool.path("starts", RecordName(j.Token, 0)), begin), w.spool.made(tt.end)); err != nil {
				t.Fatal(err)
			}
			code, e := w.run(j, allocation{job: "5"})
			text, _ := os.ReadFile(said)
			if again := strings.Contains(string(text), "requeue 5\n"); again != tt.again || code != exit || w.ran() != 0 {
				t.Errorf("it ended with %d, scontrol was told %q, the command ran %d times", code, text, w.ran())
			}
			if e.Final == tt.again || e.Seen.Class != tt.class {
				t.Errorf("its end is %+v", e)
			}
		})
	}
}
