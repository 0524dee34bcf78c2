package sshx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/sshx/sshtest"
)

// setting is a server and a client that knows it as "box".
func setting(t *testing.T, extra string) (*sshtest.Server, *Client) {
	t.Helper()
	h, hostKey := newHome(t), newKey(t)
	s := serve(t, []ssh.Signer{hostKey}, h.key("id_ed25519", ""))
	h.write("config", extra+boxConfig(s))
	h.write("known_hosts", knownLine(s, hostKey.PublicKey()))
	c := New(Target{Host: "box"}, h.options())
	t.Cleanup(func() { c.Close() })
	return s, c
}

func boxConfig(s *sshtest.Server) string {
	return fmt.Sprintf("Host box\n HostName 127.0.0.1\n Port %d\n User someone\n", s.Port())
}

func knownLine(s *sshtest.Server, key ssh.PublicKey) string {
	return fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port(), authorized(key))
}

func TestRun(t *testing.T) {
	_, c := setting(t, "")
	var out bytes.Buffer
	exit, err := c.Run(context.Background(), "cat; echo said >&2; exit 3", strings.NewReader("given"), &out)
	if err != nil {
		t.Fatal(err)
	}
	if exit.Code != 3 || exit.Stderr != "said\n" || out.String() != "given" {
		t.Errorf("%+v, stdout %q", exit, &out)
	}
	exit, err = c.Run(context.Background(), "kill -KILL $$", nil, nil)
	if err != nil || exit.Signal != "KILL" {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	_, c := setting(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := c.Run(ctx, "echo ready; cat", nil0{}, w)
		done <- err
	}()
	io.ReadFull(r, make([]byte, 6))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// nil0 is a standard input that never says anything.
type nil0 struct{}

func (nil0) Read([]byte) (int, error) { select {} }

func TestManyCommandsShareOneConnection(t *testing.T) {
	s, c := setting(t, "")
	s.Sessions = 3
	var work sync.WaitGroup
	for i := range 40 {
		work.Go(func() {
			var out bytes.Buffer
			if _, err := c.Run(context.Background(), fmt.Sprintf("echo %d", i), nil, &out); err != nil || out.String() != fmt.Sprintln(i) {
				t.Errorf("%d: %q, %v", i, &out, err)
			}
		})
	}
	work.Wait()
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if s.Peak.Load() > 3 || s.Refused.Load() == 0 {
		t.Errorf("peak %d, refused %d: the limit was not tried", s.Peak.Load(), s.Refused.Load())
	}
}

// What was given up may go on there, and have every place of the connection:
// the next command comes over another one.
func TestCommandsThatGoOnTakeNoPlaces(t *testing.T) {
	for _, places := range []int{1, maxSessions} {
		s, c := setting(t, "")
		s.Sessions = places
		dir := t.TempDir()
		for i := range places {
			st, err := c.Open(context.Background(), fmt.Sprintf("trap '' PIPE; until [ -e %s/stop ]; do sleep 0.1; done; : >%s/%d", dir, dir, i))
			if err != nil {
				t.Fatal(err)
			}
			st.Close()
		}
		var out bytes.Buffer
		if _, err := c.Run(context.Background(), "echo on", nil, &out); err != nil || out.String() != "on\n" {
			t.Errorf("of %d: %q, %v", places, &out, err)
		}
		if n := s.Connections.Load(); n != 2 {
			t.Errorf("of %d: %d connections", places, n)
		}
		if err := os.WriteFile(dir+"/stop", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.Close()
		s.Stop() // when all of them have ended
	}
}

func TestAServerThatAllowsNoSession(t *testing.T) {
	s, c := setting(t, "")
	s.Sessions = 0
	_, err := c.Run(context.Background(), "true", nil, nil)
	wantError(t, err, Config, "opens no session", "MaxSessions")
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestAConnectionThatEndsIsNoRefusal: its channels close before it does.
func TestAConnectionThatEndsIsNoRefusal(t *testing.T) {
	t.Parallel()
	s, c := setting(t, "")
	s.Drops.Store(true)
	if _, err := c.Run(t.Context(), "true", nil, nil); !isUnreachable(err) || !Broke(err) {
		t.Errorf("%v, want a lost connection", err)
	}
	if _, err := c.Run(t.Context(), "true", nil, nil); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestASessionThatEndsIsNoRefusal: its connection goes on, and the next one may work.
func TestASessionThatEndsIsNoRefusal(t *testing.T) {
	t.Parallel()
	s, c := setting(t, "")
	s.Closes.Store(true)
	if _, err := c.Run(t.Context(), "true", nil, nil); !isUnreachable(err) || !Broke(err) {
		t.Errorf("%v, want a session that ended", err)
	}
	if _, err := c.Run(t.Context(), "true", nil, nil); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections, want one", n)
	}
}

func TestADeadLinkEndsAStreamAndTheNextCallDialsAgain(t *testing.T) {
	s, c := setting(t, "")
	st, err := c.Open(context.Background(), "echo ready; cat")
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(st, make([]byte, 6))
	s.Cut()
	if _, err := io.ReadAll(st); !isUnreachable(err) {
		t.Errorf("read: %v", err)
	}
	if _, err := st.Wait(); !isUnreachable(err) {
		t.Errorf("wait: %v", err)
	}
	if _, err := c.Run(context.Background(), "true", nil, nil); err != nil {
		t.Error(err)
	}
	if n := s.Connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// TestCloseEndsReads: a command that neither ends nor says anything keeps nobody who
// closes its stream.
func TestCloseEndsReads(t *testing.T) {
	_, c := setting(t, "")
	over := filepath.Join(t.TempDir(), "over")
	s, err := c.Open(context.Background(), "until [ -e "+over+" ]; do sleep 0.1; done")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		read <- err
	}()
	time.Sleep(50 * time.Millisecond)
	s.Close()
	select {
	case err := <-read:
		if err == nil {
			t.Error("it read something")
		}
	case <-time.After(10 * time.Second):
		t.Error("the read goes on")
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Error(err)
	}
}
