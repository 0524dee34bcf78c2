package sshx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/program"
)

const siteConfig = `
# a laboratory's
IdentityFile ~/.ssh/id_first
Host gpu? !gpu9 other
    HostName %h.lab.example
	User = "first user"
    Port=2201
    User second
Host "gpu*"
    ProxyJump gate,inner:2222
    ConnectTimeout 1m5s
    ServerAliveInterval 7
    ServerAliveCountMax 2
    IdentityFile "~/.ssh/%n key"   # with a blank
    UserKnownHostsFile ~/.ssh/a "~/.ssh/b c"
Match originalhost gpu1 exec "test %n = gpu1"
    HostKeyAlias gpuone
Match exec "false"
    HostKeyAlias never
`

// TestConfig reads ssh's configuration as the user's own ssh does, the programs
// of Match exec included.
func TestConfig(t *testing.T) {
	h := newHome(t)
	h.write("config", siteConfig)
	o := h.options()
	g := mustResolve(t, o, "gpu1")
	if g.name != "gpu1.lab.example" || g.user != "first user" || g.port != 2201 || g.jump != "gate,inner:2222" || g.proxy != "" {
		t.Errorf("%+v", g)
	}
	if g.connect != 65*time.Second || g.alive != (keepAlive{7 * time.Second, 2}) || g.keyName() != "gpuone" {
		t.Errorf("connect %s, alive %v, key name %s", g.connect, g.alive, g.keyName())
	}
	for keyword, want := range map[string][]string{"identityfile": {h.path("id_first"), h.path("gpu1 key")}, "userknownhostsfile": {h.path("a"), h.path("b c")}} {
		if files, err := g.files(keyword, h.dir); err != nil || !slices.Equal(files, want) {
			t.Errorf("%s: %q, %v", keyword, files, err)
		}
	}
}

// TestStatedBeforeConfigured: what a backend states wins, and Match sees it.
func TestStatedBeforeConfigured(t *testing.T) {
	h := newHome(t)
	h.write("config", "Match user bob\n  HostKeyAlias bobs\nHost *\n  User alice\n  Port 7\n")
	g, err := resolve(context.Background(), Target{Host: "box", User: "bob", Port: 9, ControlPath: "~/.ssh/c m-%h"}, h.options())
	if err != nil {
		t.Fatal(err)
	}
	if g.user != "bob" || g.port != 9 || g.keyName() != "bobs" || g.control.path != h.path("c m-box") {
		t.Errorf("%+v", g)
	}
}

// TestWithoutAClient: then the backend alone says where to go.
func TestWithoutAClient(t *testing.T) {
	h := newHome(t)
	h.write("config", "Host box\n  HostName elsewhere\n  ProxyCommand false\n")
	t.Setenv("PATH", t.TempDir())
	g, err := resolve(context.Background(), Target{Host: "box", User: "bob", Port: 9}, h.options())
	if err != nil {
		t.Fatal(err)
	}
	if g.name != "box" || g.user != "bob" || g.port != 9 || g.proxy != "" || g.control != (control{}) {
		t.Errorf("%+v", g)
	}
}

// TestNamesAreRefusedBeforeSSHRuns: no program sees a name that a shell could
// read as more.
func TestNamesAreRefusedBeforeSSHRuns(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	program.Write(t, filepath.Join(dir, "ssh"), "#!/bin/sh\n: >"+ran+"\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	bad := []Target{{Host: "box", User: "a b -oX"}, {Host: "box", ControlPath: "relative"}, {Host: "box", ControlPath: "/a\"b"}}
	for _, name := range []string{"$(id>x)", "`id`", "a;b", "a|b", "a&b", "a<b", "a>b", "a'b", `a"b`, `a\`, "{a}", "(a)", "-oProxyCommand=x", "a\tb", "a\nb", "a\x00b", "a\x1b[2Jb", "a\u202eb"} {
		bad = append(bad, Target{Host: name}, Target{Host: "box", User: name})
	}
	bad = append(bad, Target{Host: ""}, Target{Host: "a b"}, Target{Host: "../x"})
	for _, target := range bad {
		_, err := resolve(context.Background(), target, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Class != Config || !strings.HasPrefix(e.Summary, "not ") {
			t.Errorf("%+v: %v", target, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("ssh was run")
	}
	for _, good := range []Target{{Host: "lab-1.example.org"}, {Host: "fe80::1%eth0"}, {Host: "10.0.0.1", User: "first.last@realm"}, {Host: "box", User: "Ann Lee"}, {Host: "box", User: `DOM\ann`}} {
		if err := good.check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

func mustResolve(t *testing.T, o Options, alias string) *host {
	t.Helper()
	h, err := resolve(context.Background(), Target{Host: alias}, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestConfigMistakesAreTold(t *testing.T) {
	h := newHome(t)
	for name, c := range map[string]struct{ config, want string }{
		"quote": {"Host \"a\n", "no argument after keyword"},
		"port":  {"Port x\n", "line 1"},
	} {
		h.write("config", c.config)
		_, err := resolve(context.Background(), Target{Host: "a"}, h.options())
		var e *Error
		if !errors.As(err, &e) || e.Class != Config || !strings.HasPrefix(e.Error(), "cannot read the ssh configuration") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.write("config", "Port 3\n")
	if err := os.Chmod(h.path("config"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := resolve(context.Background(), Target{Host: "a"}, Options{Home: h.dir})
	if err == nil || !strings.Contains(err.Error(), "chmod 600 "+filepath.Join(h.dir, ".ssh", "config")) {
		t.Errorf("writable by others: %v", err)
	}
}

func TestAlgorithmList(t *testing.T) {
	standard, known := []string{"a", "b"}, []string{"a", "b", "old"}
	for value, want := range map[string]string{"": "a b", "b,unknown,old": "b old"} {
		if got, err := algorithmList(value, standard, known); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %s, %v", value, got, err)
		}
	}
	if _, err := algorithmList("unknown", standard, known); err == nil {
		t.Error("no algorithm, and no error")
	}
}

func TestFastCiphersComeFirst(t *testing.T) {
	for list, want := range map[string]string{
		"chacha20-poly1305@openssh.com,aes128-ctr,aes128-gcm@openssh.com,aes256-gcm@openssh.com": "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr",
		"chacha20-poly1305@openssh.com":                "chacha20-poly1305@openssh.com",
		"aes256-ctr,aes256-gcm@openssh.com,aes128-cbc": "aes256-gcm@openssh.com,aes256-ctr,aes128-cbc",
	} {
		if got := strings.Join(fastFirst(strings.Split(list, ",")), ","); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

// TestOldServers: what a server from long ago wants has to be asked for.
func TestOldServers(t *testing.T) {
	hostKey := newKey(t)
	s, h := box(t, hostKey)
	s.Set(func(c *ssh.ServerConfig) {
		c.Ciphers, c.KeyExchanges = []string{"aes128-cbc"}, []string{"diffie-hellman-group1-sha1"}
	})
	h.knows(s, hostKey.PublicKey(), "")
	wantError(t, connect(t, h, Target{}), Config, "share no algorithm")
	h.knows(s, hostKey.PublicKey(), "Ciphers +aes128-cbc\nKexAlgorithms +diffie-hellman-group1-sha1\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[string]time.Duration{"": 5, "0": 5, "none": 5, "-1": 5, "30": 30 * time.Second, "2m": 2 * time.Minute, "1h1S": time.Hour + time.Second, "9999999999999999": 5} {
		if got := seconds(s, 5); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func FuzzWildcard(f *testing.F) {
	f.Add("a*b?", "aXXbY")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !wildcard("*", s) || !wildcard(strings.Repeat("?", len(s)), s) {
			t.Error("a star or as many marks as bytes match everything")
		}
		if wildcard(pattern, s) && !wildcard(pattern+"*", s) {
			t.Error("a star more matches less")
		}
	})
}
