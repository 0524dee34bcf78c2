package sshx

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/sshx/sshtest"
)

func TestProxyJump(t *testing.T) {
	h := newHome(t)
	me := h.key("id_ed25519", "")
	keys := []ssh.Signer{newKey(t), newKey(t), newKey(t)}
	var servers []*sshtest.Server
	known := ""
	for _, k := range keys {
		s := serve(t, []ssh.Signer{k}, me)
		servers = append(servers, s)
		known += knownLine(s, k.PublicKey())
	}
	h.write("known_hosts", known)
	h.write("config", fmt.Sprintf("Host one\n HostName 127.0.0.1\n Port %d\nHost box\n ProxyJump one,someone@127.0.0.1:%d\n%s", servers[0].Port(), servers[1].Port(), boxConfig(servers[2])))
	before := runtime.NumGoroutine()
	c := New(Target{Host: "box"}, h.options())
	var out bytes.Buffer
	if _, err := c.Run(context.Background(), "echo through", nil, &out); err != nil || out.String() != "through\n" {
		t.Fatalf("%q, %v", &out, err)
	}
	for i, s := range servers {
		if s.Connections.Load() != 1 {
			t.Errorf("server %d took %d connections", i, s.Connections.Load())
		}
	}
	c.Close()
	for _, s := range servers {
		s.Stop()
	}
	settle(t, before)

	h.write("config", "Host box\n ProxyJump other\nHost other\n ProxyJump box\n")
	wantError(t, connect(t, h, Target{}), Config, "round in circles")
	h.write("config", fmt.Sprintf("Host box\n ProxyJump 127.0.0.1:%d\n", servers[0].Port()))
	wantError(t, connect(t, h, Target{}), Unreachable, "127.0.0.1")
}

// settle waits until no more goroutines run than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 6000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func TestProxyCommand(t *testing.T) {
	t.Setenv("SHELL", needs.Program(t, "bash")) // the proxy is its /dev/tcp
	proxy := `ProxyCommand bash -c 'exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3'` + "\n"
	_, c := setting(t, proxy)
	var out bytes.Buffer
	if _, err := c.Run(context.Background(), "echo through", nil, &out); err != nil || out.String() != "through\n" {
		t.Errorf("%q, %v", &out, err)
	}
	c.Close()
	_, c = setting(t, "ProxyCommand echo the tunnel is shut >&2; exit 1\n")
	wantError(t, c.Connect(context.Background()), Unreachable, "the tunnel is shut")
}

// A ProxyCommand that is gone before it is spoken to has its say, too: then it
// is the first write that fails.
func TestProxyCommandGoneEarly(t *testing.T) {
	h := &host{alias: "box", name: "box", proxy: "echo the tunnel is shut >&2", settings: &settings{}, control: control{}}
	conn, err := h.throughCommand(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-conn.(*proxyConn).ended
	if _, err := conn.Write([]byte("SSH-2.0-muster\r\n")); err == nil || !strings.Contains(err.Error(), "the tunnel is shut") {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	h := newHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	h.write("config", fmt.Sprintf("Host box\n HostName 127.0.0.1\n Port %d\n ConnectTimeout 1\n", port))
	// It listens and says nothing, as a frozen host does.
	wantError(t, connect(t, h, Target{}), Unreachable, "cannot reach box", "no answer within 1s")
	l.Close()
	wantError(t, connect(t, h, Target{}), Unreachable, "refused")
}

// TestASilentLinkIsLost: the server's side is there and answers nothing.
func TestASilentLinkIsLost(t *testing.T) {
	before := runtime.NumGoroutine()
	s, c := setting(t, "ServerAliveInterval 1\nServerAliveCountMax 1\n")
	st, err := c.Open(context.Background(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	s.Deaf.Store(true)
	_, err = st.Wait()
	wantError(t, err, Unreachable, "connection to box", "nothing was heard")
	c.Close()
	s.Stop()
	settle(t, before)
}

// TestOneDialForAll: those who ask while a dial is under way share it, and its
// failure; after it they wait together.
func TestOneDialForAll(t *testing.T) {
	dials := make(chan chan error)
	l := newLink(func(context.Context, Asker) (connection, error) {
		answer := make(chan error)
		dials <- answer
		return nil, <-answer
	}, quick())
	defer l.close()
	got := make(chan error)
	for range 5 {
		go func() {
			_, err := l.get(context.Background())
			got <- err
		}()
	}
	answer := <-dials
	for range 100 {
		l.mu.Lock()
		waiting := l.dialing
		l.mu.Unlock()
		if waiting != nil {
			break
		}
		runtime.Gosched()
	}
	answer <- &Error{Class: Unreachable, Summary: "down"}
	if err := <-got; err == nil || err.Error() != "down" {
		t.Error(err)
	}
	for range 4 { // who came too late for the first dial shares the second
		select {
		case err := <-got:
			if err.Error() != "down" {
				t.Error(err)
			}
		case answer := <-dials:
			answer <- &Error{Class: Unreachable, Summary: "down"}
			<-got
		}
	}
}

func TestBackoff(t *testing.T) {
	b := &backoff{first: time.Second, long: 10 * time.Second, chance: func() float64 { return 0 }}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 500: 10 * time.Second} {
		if got := b.after(failures); got != want {
			t.Errorf("after %d: %s, want %s", failures, got, want)
		}
	}
	b.chance = func() float64 { return 0.5 }
	if got := b.after(1); got != 750*time.Millisecond {
		t.Errorf("with chance: %s", got)
	}
}

// TestARefusalIsNotRepeated: who insists is locked out.
func TestARefusalIsNotRepeated(t *testing.T) {
	h, hostKey := newHome(t), newKey(t)
	h.key("id_ed25519", "")
	s := serve(t, []ssh.Signer{hostKey})
	h.knows(s, hostKey.PublicKey(), "")
	o := h.options()
	o.backoff = &backoff{first: time.Hour, long: time.Hour, chance: func() float64 { return 0 }}
	c := New(Target{Host: "box"}, o)
	defer c.Close()
	for range 5 {
		wantError(t, c.Connect(context.Background()), Auth)
	}
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestRestIsSharedAndKept: after a failed dial nobody dials before its time,
// and who cannot wait hears why.
func TestRestIsSharedAndKept(t *testing.T) {
	h := newHome(t)
	h.write("config", "Host box\n HostName 127.0.0.1\n Port 1\n")
	o := h.options()
	o.backoff = &backoff{first: time.Hour, long: time.Hour, chance: func() float64 { return 0 }}
	c := New(Target{Host: "box"}, o)
	wantError(t, c.Connect(context.Background()), Unreachable, "refused")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	wantError(t, c.Connect(ctx), Unreachable, "refused")
	c.Close()
	if err := c.Connect(context.Background()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
}
