package systemtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHAwayForAMinute: in the middle of 50 running jobs the link is cut for a
// whole minute, the laptop's side is killed, and sshd is restarted. Half of the
// jobs end meanwhile, the others later. An apply that begins while the host is
// silent carries on when it answers: nothing runs again, nothing is lost.
func TestSystemSSHAwayForAMinute(t *testing.T) {
	const (
		many = 50
		away = time.Minute
	)
	h := lab.Hosts(t, 1)[0]
	twoGates := strings.ReplaceAll(gated(many, 0), "FOLDER/gate", fmt.Sprintf("FOLDER/gate$((${cell.i} / %d))", many/2))
	r := newRemote(t, []*lab.Host{h}, twoGates)
	for i := range 2 {
		h.Exec(fmt.Sprintf("mkfifo -m 666 %s/gate%d", r.folder, i))
	}
	f := r.follow("apply", "-auto-approve")
	r.until("all to run", func() bool { return r.count("start") == many })

	h.Cut()
	cut := time.Now()
	r.until("word of the loss", func() bool { return strings.Contains(f.said(), "was lost") })
	r.end() // kills whatever is muster's here, without a word
	f.Wait()
	r.openGate("gate0")
	r.until("half of the ends, with nobody watching", func() bool { return r.count("end") == many/2 })
	f = r.follow("apply", "-auto-approve")
	r.until("word of a host that is silent", func() bool { return strings.Contains(f.said(), "cannot reach h1") })
	time.Sleep(away - time.Since(cut))
	h.StopSSHD()
	h.Heal()
	h.StartSSHD()
	r.until("the host to be seen again", func() bool { return strings.Contains(f.said(), "answers again") })
	r.openGate("gate1")
	r.done(f, many)
	if said := f.said(); strings.Contains(said, "failed") || strings.Contains(said, "retrying") {
		t.Errorf("a silent link is taken for more than that: %s", said)
	}
	r.onceEach(many)
}
