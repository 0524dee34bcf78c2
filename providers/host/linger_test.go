package host

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
)

// pidIn waits for a file that holds a pid.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	for range 6000 {
		b, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no pid in %s", path)
	return 0
}

func TestLingeringProcessesAreReaped(t *testing.T) {
	// Requirement: SCR-01
	t.Parallel()
	for _, c := range []struct{ name, command string }{
		{"in the job's session", `sleep 1000 & echo $! > pid; echo > out`},
		{"that ignores TERM", `(trap '' TERM; while :; do sleep 0.1; done) & echo $! > pid; echo > out`},
		{"in a session of its own", `setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.1; done; echo > out`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job(c.command, "out")
			j.Attempt = 3 // muster launched it before
			w.submit(j)
			if o := w.wait(j)[0]; o.Status != offer.Completed {
				t.Fatalf("%+v", o)
			}
			process.ID{PID: pidIn(t, w.path("pid"))}.Await()
		})
	}
}

// TestLingeringProcessesAreReapedBeforeTheQueueGoes: a queue that is cleaned
// away right after a job ended first ends what that job left behind.
func TestLingeringProcessesAreReapedBeforeTheQueueGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, command string }{
		{"of its own will", `exec sleep 1000`},
		{"that ignores TERM", `trap "" TERM; while :; do sleep 0.1; done`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job(`setsid sh -c 'echo $$ > pid; `+c.command+`' & while [ ! -s pid ]; do sleep 0.1; done; echo > out`, "out")
			w.submit(j)
			if o := w.wait(j)[0]; o.Status != offer.Completed {
				t.Fatalf("%+v", o)
			}
			p := process.ID{PID: pidIn(t, w.path("pid"))}
			queue := w.queuePID()
			if _, err := w.client.Clean(t.Context(), w.place); err != nil {
				t.Fatal(err)
			}
			w.client.Close()
			queue.Await()
			if p.Alive() {
				t.Error("the queue went, and what its job left behind did not")
			}
		})
	}
}

// TestLingeringProcessesAreReapedByTheNextQueue: what left its job's session and
// outlived the job is ended by the next queue, where the one that saw the job end
// was killed over it. What holds a token that no queue here knows is left alone.
func TestLingeringProcessesAreReapedByTheNextQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`setsid sh -c 'echo $$ > pid; trap "" TERM; while :; do sleep 0.1; done' & while [ ! -s pid ]; do sleep 0.1; done; echo > out`, "out")
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Fatalf("%+v", o)
	}
	w.kill() // before it comes to KILL
	p := process.ID{PID: pidIn(t, w.path("pid"))}
	if !p.Alive() {
		t.Fatal("it is over without the next queue")
	}
	stranger := exec.Command("sleep", "1000")
	stranger.Env = append(os.Environ(), "MUSTER_TOKEN=ffffffffffffffffffffffffffffffff", "MUSTER_ATTEMPT=1")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()
	defer stranger.Process.Kill()
	if _, err := w.client.Find(t.Context(), w.place, []string{j.Token}); err != nil { // starts the next queue
		t.Fatal(err)
	}
	p.Await()
	if !(process.ID{PID: stranger.Process.Pid}).Alive() {
		t.Error("a process of a token that nobody knows was ended")
	}
}

func TestQueueOutlivesItsStarterJob(t *testing.T) {
	// A queue that is started by a job of another queue does not count as
	// that job's lingering process.
	w := newWorld(t)
	t.Setenv("MUSTER_TOKEN", "sometoken")
	for _, v := range w.client.environ() {
		if strings.HasPrefix(v, "MUSTER_TOKEN=") {
			t.Error(v)
		}
	}
}

func TestCheckpointSignalReachesTheProgram(t *testing.T) {
	t.Parallel()
	text := "#!/bin/sh\ntrap 'echo saved > out; exit 0' USR1\necho up > up\nwhile :; do sleep 0.05; done\n"
	for _, command := range []string{"./program", "./program; exit $?", "exec ./program", "trap 'echo saved > out; exit 0' USR1; echo up > up; while :; do sleep 0.05; done"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			_, o := inTime(t, []string{"up"}, func(w *world, limit time.Duration) providers.Job {
				program.Write(t, w.path("program"), text)
				j := w.job(command, "out")
				j.Shape.Walltime = limit + time.Minute
				j.Checkpoint.Signal, j.Checkpoint.Grace = "USR1", time.Minute
				return j
			})
			if o.Status != offer.Completed {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestGraceIsTheProgramsToo(t *testing.T) {
	t.Parallel()
	// The shell of the command dies of TERM at once; what it runs may take
	// its time.
	for _, command := range []string{"./program", "true && ./program; exit $?", `(exec ./program)`, `echo $$ > /dev/null; ./program`} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w, o := inTime(t, []string{"up"}, func(w *world, limit time.Duration) providers.Job {
				program.Write(t, w.path("program"), "#!/bin/sh\ntrap 'sleep 0.7; echo saved > saved; exit 0' TERM\necho > up\nwhile :; do sleep 0.05; done\n")
				j := w.job(command, "out")
				j.Shape.Walltime, j.Grace = limit, 20*time.Second
				return j
			})
			if o.Class != "walltime" {
				t.Errorf("%+v", o)
			}
			if got := w.read("saved"); got != "saved\n" {
				t.Errorf("%q", got)
			}
		})
	}
}
