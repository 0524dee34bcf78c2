package systemtest

import (
	"strings"
	"syscall"
	"testing"
)

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// Whatever politely ends muster: jobs go on, it says so, and the same command
// finishes the campaign.
func TestSystemInterrupted(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals []syscall.Signal
		want    string
	}{
		{"Ctrl-C", []syscall.Signal{syscall.SIGINT}, "will still start. Stop that: muster hold"},
		{"Ctrl-C twice", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, ""},
		{"TERM", []syscall.Signal{syscall.SIGTERM}, "will still start. Stop that: muster hold"},
		{"the terminal is closed", []syscall.Signal{syscall.SIGHUP}, "will still start. Stop that: muster hold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, jobs(12, untilGo))
			d := w.start("apply", "-auto-approve")
			w.started(2)
			for _, s := range c.signals {
				if err := d.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			out, code := d.end()
			if code != 130 || !strings.Contains(out, c.want) {
				t.Fatalf("exit %d, want 130 and %q: %s", code, c.want, out)
			}
			w.write("go", "")
			w.want(0, "12 of 12", "apply", "-auto-approve")
			w.ranOnce(12)
		})
	}
}

func TestSystemDetachedAndOnce(t *testing.T) {
	w := newWorld(t, jobs(6, untilGo))
	w.want(0, "muster apply -once", "apply", "-auto-approve", "-detach")
	w.want(0, "One pass made", "apply", "-once")
	w.write("go", "")
	w.until("the queue is done", func() bool { return len(w.processes()) == 0 })
	w.want(0, "6 of 6 jobs done", "apply", "-once")
	w.ranOnce(6)
}

func TestSystemNobodyToAsk(t *testing.T) {
	w := newWorld(t, jobs(2, "true"))
	w.want(1, "-auto-approve", "apply")
	w.started(0)
	w.want(0, "2 of 2", "apply", "-auto-approve")
	w.ranOnce(2)
}
