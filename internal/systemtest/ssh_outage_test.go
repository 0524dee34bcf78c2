package systemtest

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHOutageIsSaid: while a host cannot be reached, the progress line says
// since when and what its jobs did when it last answered, and not that they run; jobs
// whose submission the cut fell into are not said to be unsubmitted.
func TestSystemSSHOutageIsSaid(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	t.Run("jobs run", func(t *testing.T) {
		r, f := gate(t, h, 6, 0)
		r.until("muster to know that they run", func() bool {
			said, _ := r.run("status")
			return strings.Contains(said, "6 running")
		})
		h.Cut()
		r.until("a line of progress", func() bool {
			return strings.Contains(f.said(), "0 of 6 done, 6 unknown; backend.ssh.lab cannot be reached since 20") && strings.Contains(f.said(), "UTC, with 6 running")
		})
		_, after, _ := strings.Cut(f.said(), "cannot be reached since")
		if strings.Contains(after, "of 6 done, 6 running") {
			t.Errorf("it says that they run: %s", f.said())
		}
		h.Heal()
		r.until("word of the end", func() bool { return strings.Contains(f.said(), "backend.ssh.lab: answers again") })
		r.open()
		r.done(f, 6)
		r.onceEach(6)
	})
	t.Run("jobs are being submitted", func(t *testing.T) {
		r := newRemote(t, []*lab.Host{h}, gated(6, 0))
		h.Exec("mkfifo -m 666 " + r.folder + "/gate") // a fast submission does not end the run before the cut
		f := r.follow("apply", "-auto-approve")
		r.until("the run to begin", func() bool { return strings.Contains(f.said(), "6 to run") })
		r.until("the campaign's name in the workdir, which jobs follow", func() bool {
			return h.Exec("ls "+r.folder+"/work/.muster/campaigns/*.json 2>/dev/null; true") != ""
		})
		h.Cut()
		r.until("word of the loss", func() bool { return strings.Contains(f.said(), "cannot be reached") })
		// In a pipe a line of progress follows only where the cut changed what is known of a job.
		_, after, _ := strings.Cut(f.said(), "cannot be reached")
		if strings.Contains(after, "not submitted yet") && !strings.Contains(after, "being submitted") {
			t.Errorf("it says that they were not submitted, which nobody knows: %s", f.said())
		}
		h.Heal()
		r.open()
		r.done(f, 6)
		r.onceEach(6)
	})
}
