package sshx

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// over is a client of a lab host, with ssh_config lines before the lab's own.
func over(t *testing.T, h *lab.Host, lines string) *Client {
	t.Helper()
	dir := newHome(t)
	text, err := os.ReadFile(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	o := dir.options()
	dir.write("config", lines+string(text))
	o.backoff = nil
	c := New(Target{Host: h.Name}, o)
	t.Cleanup(func() { c.Close() })
	return c
}

func says(t *testing.T, c *Client, command string) string {
	t.Helper()
	var out bytes.Buffer
	exit, err := c.Run(context.Background(), command, nil, &out)
	if err != nil || exit.Code != 0 {
		t.Fatalf("%s: %+v, %v", command, exit, err)
	}
	return strings.TrimSpace(out.String())
}

// TestSystemOpenSSH is the transport against the real server: many commands over one
// connection that allows few at once, and every way to lose it.
func TestSystemOpenSSH(t *testing.T) {
	hosts := lab.Hosts(t, 2, "LAB_MAXSESSIONS=2")
	a, b := hosts[0], hosts[1]
	c := over(t, a, "")
	before := a.Connections()
	var work sync.WaitGroup
	for i := range 30 {
		work.Go(func() {
			if got := says(t, c, fmt.Sprintf("echo %d", i)); got != fmt.Sprint(i) {
				t.Errorf("%d: %q", i, got)
			}
		})
	}
	work.Wait()
	if n := a.Connections() - before; n != 1 {
		t.Errorf("%d connections", n)
	}

	c = over(t, a, "ServerAliveInterval 2\nServerAliveCountMax 3\nConnectTimeout 6\n")
	for name, step := range map[string][2]func(){"cut": {a.Cut, a.Heal}, "freeze": {a.Freeze, a.Thaw}, "sshd": {a.StopSSHD, a.StartSSHD}, "crash": {a.Crash, a.Start}} {
		st, err := c.Open(context.Background(), "sleep 100")
		if err != nil {
			t.Fatal(err)
		}
		step[0]()
		_, err = st.Wait()
		wantError(t, err, Unreachable)
		wantError(t, c.Connect(context.Background()), Unreachable)
		step[1]()
		if got := says(t, c, "hostname"); got != "h1" {
			t.Errorf("after %s: %q", name, got)
		}
	}

	if got := says(t, over(t, b, "Host h2\n ProxyJump h1\n"), "echo $SSH_CONNECTION"); !strings.HasPrefix(got, a.Addr+" ") {
		t.Errorf("through h1: %q", got)
	}
	b.NewKey()
	wantError(t, over(t, b, "").Connect(context.Background()), HostKey, "has changed", b.KnownHosts+":2")
}
