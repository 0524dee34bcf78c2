package ssh

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/needs"
)

// TestCopyGoesOn: a link that breaks under the first copy of the program costs
// what was on its way, not what had arrived.
func TestCopyGoesOn(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	s := provider(t, h)
	s.binaries.found = padded(8 << 20).found // beside it, what is under way when the link breaks is little
	b := ownBinary(t, s)
	relay := lab.NewRelay(t, h.addr, 0, 4<<20)
	_, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		t.Fatal(err)
	}
	known := read(t, h.ours("known_hosts"))
	known = bytes.ReplaceAll(known, []byte(port), fmt.Append(nil, relay.Port))
	if err := os.WriteFile(h.ours("known_hosts"), known, 0o600); err != nil {
		t.Fatal(err)
	}
	h.addr = fmt.Sprintf("127.0.0.1:%d", relay.Port)

	install := t.TempDir()
	done := make(chan error, 1)
	go func() { done <- asked(t, s, backendOn(t, h, install)) }()
	for range 2 {
		for from := relay.Carried(); relay.Carried() < from+int64(len(b.packed))/3; time.Sleep(5 * time.Millisecond) {
		}
		relay.Reset()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if carried, all := relay.Carried(), int64(len(b.packed)); carried > all*5/4 {
		t.Errorf("%d KiB went over for a program of %d KiB", carried>>10, all>>10)
	}
	found, err := os.ReadDir(install)
	if err != nil || len(found) != 1 || strings.HasPrefix(found[0].Name(), ".") {
		t.Errorf("there is %v, %v", found, err)
	}
}

// TestCopiersMeet: many that put the program into one folder at once, as two
// people's first applies do, all find it there.
func TestCopiersMeet(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	install := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		s, b := provider(t, h), backendOn(t, h, install)
		wg.Go(func() {
			if err := asked(t, s, b); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	found, err := os.ReadDir(install)
	if err != nil || len(found) != 1 || strings.HasPrefix(found[0].Name(), ".") {
		t.Errorf("there is %v, %v", found, err)
	}
}

// TestCopyThatAnotherBeginsAnew: who has taken the half of a copy away is
// another that copies, and the next copy has a place of its own.
func TestCopyThatAnotherBeginsAnew(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	install := t.TempDir()
	once := filepath.Join(t.TempDir(), "once")
	h.tool("cat", fmt.Sprintf(`cat=%s; [ ! -t 0 ] && [ $# = 0 ] && ln -s x %s 2>/dev/null && { $cat >/dev/null; echo another; exit; }; exec $cat "$@"`, needs.Program(t, "cat"), once))
	if err := asked(t, provider(t, h), backendOn(t, h, install)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(once); err != nil {
		t.Errorf("nobody has disturbed it: %v", err)
	}
}
