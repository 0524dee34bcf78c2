package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

// through makes the host be reached through a relay.
func (r *remote) through(relay *lab.Relay) {
	r.t.Helper()
	file := os.Getenv("HOME") + "/.ssh/config"
	config, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	way := fmt.Sprintf("Host %s\n HostName 127.0.0.1\n Port %d\n HostKeyAlias %s\n", r.host.Name, relay.Port, r.host.Addr)
	if err := os.WriteFile(file, append([]byte(way), config...), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestSystemSSHLongWay: 150 ms each way, a narrow line, connections reset at random,
// the first copy of the host's program included. The campaign is done, each
// job ran once, and status answers meanwhile.
func TestSystemSSHLongWay(t *testing.T) {
	const (
		latency = 150 * time.Millisecond
		rate    = 1 << 20 // bytes per second; the program is several seconds
		many    = 60
	)
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, gated(many, many/2))
	relay := lab.NewRelay(t, h.Addr+":22", latency, rate)
	r.through(relay)
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")

	f := r.follow("apply", "-auto-approve")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("apply said %s", f.said())
		}
	})
	r.until("the copy to be half there", func() bool { return relay.Carried() > 2<<20 })
	relay.Reset()
	r.until("all starts", func() bool { return r.count("start") == many })

	stop := make(chan struct{})
	var resets sync.WaitGroup
	resets.Go(func() {
		for n := 0; ; n += relay.Reset() {
			select {
			case <-stop:
				t.Logf("%d of %d connections were reset; %d KiB went to and fro", n, relay.Connections(), relay.Carried()>>10)
				return
			case <-time.After(3*time.Second + rand.N(6*time.Second)):
			}
		}
	})
	for range 4 {
		r.want(0, fmt.Sprintf("%d of %d done", many/2, many), "status", "-refresh")
	}
	r.open()
	r.done(f, many)
	close(stop)
	resets.Wait()
	r.onceEach(many)
}
