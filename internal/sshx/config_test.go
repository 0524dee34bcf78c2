package sshx

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
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
    ProxyCommand nc %h %p
    ConnectTimeout 1m5s
    ServerAliveInterval 7
    ServerAliveCountMax 2
    IdentityFile "~/.ssh/%n key"   # with a blank
    UserKnownHostsFile ~/.ssh/a ~/.ssh/b
Match originalhost gpu1 host gpu1.lab.example user "first user"
    HostKeyAlias gpuone
Match !host *.lab.example
    Port 99
Match host *.lab.example,!gpu2.lab.example localuser nobody-has-this-name
    Port 98
Match exec "false"
    HostKeyAlias never
Match final all
    HashKnownHosts yes
Include conf.d/*.conf nothing/*
Host plain
    ProxyCommand none
    HostName=plain.example
`

func TestReadConfig(t *testing.T) {
	h := newHome(t)
	h.write("config", siteConfig)
	h.write("conf.d/20.conf", "Host late\n  Port 20\nHost *\n  AddressFamily inet6\n")
	h.write("conf.d/10.conf", "Host late\n  Port 10\n")
	o := h.options()
	g := mustResolve(t, o, "gpu1")
	if g.name != "gpu1.lab.example" || g.user != "first user" || g.port != 2201 || g.jump != "gate,inner:2222" || g.proxy != "" {
		t.Errorf("%+v", g)
	}
	if g.connect != 65*time.Second || g.alive != (keepAlive{7 * time.Second, 2}) || g.keyName() != "gpuone" {
		t.Errorf("connect %s, alive %v, key name %s", g.connect, g.alive, g.keyName())
	}
	files, err := g.files("identityfile", h.dir)
	if want := []string{h.path("id_first"), h.path("gpu1 key")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("identity files %q, %v", files, err)
	}
	if g.settings.get("hashknownhosts") != "yes" {
		t.Error("Match final was not read")
	}
	if len(g.settings.notes) != 1 || !strings.Contains(g.settings.notes[0], "Match exec is not followed") {
		t.Errorf("notes %q", g.settings.notes)
	}
	if nine := mustResolve(t, o, "gpu9"); nine.name != "gpu9" || nine.port != 99 || nine.jump == "" {
		t.Errorf("a negated pattern: %+v", nine)
	}
}

func mustResolve(t *testing.T, o Options, alias string) *host {
	t.Helper()
	h, err := resolve(Target{Host: alias}, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestInclude: an Include inside a block counts as often as the block, and
// what follows it belongs to the block that was open before it.
func TestInclude(t *testing.T) {
	h := newHome(t)
	h.write("config", "Host a\n Include one\n User after\nInclude one\nHost *\n Port 4\n")
	h.write("one", "Port 1\nHost b\n Port 2\n")
	for alias, want := range map[string]string{"a": "1 after", "b": "4 ", "c": "4 "} {
		r, err := readConfig(h.options().configFiles(), h.dir, alias, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := r.get("port") + " " + r.get("user"); got != want {
			t.Errorf("%s: %q, want %q", alias, got, want)
		}
	}
	h.write("config", "Include config\n")
	if _, err := readConfig(h.options().configFiles(), h.dir, "a", ""); err == nil || !strings.Contains(err.Error(), "includes itself") {
		t.Errorf("a circle: %v", err)
	}
}

// TestConfigLikeSSH compares with what ssh(1) itself makes of the same files.
func TestConfigLikeSSH(t *testing.T) {
	program := needs.Program(t, "ssh")
	h := newHome(t)
	config := strings.ReplaceAll(siteConfig, "Include conf.d", "Include "+h.path("conf.d"))
	h.write("config", config+"Match all\n  Include "+h.path("nested")+"\n  ServerAliveInterval 9\n")
	h.write("conf.d/20.conf", "Host late\n  Port 20\nHost *\n  AddressFamily inet6\n")
	h.write("conf.d/10.conf", "Host late\n  Port 10\n")
	h.write("nested", "Host late gpu3\n  HostName nested.%h.example\n")
	for _, alias := range []string{"gpu1", "gpu2", "gpu3", "gpu9", "other", "late", "plain", "10.0.0.1", "GPU1"} {
		out, err := exec.Command(program, "-F", h.path("config"), "-G", alias).Output()
		if err != nil {
			t.Fatalf("ssh -G %s: %v", alias, err)
		}
		theirs := map[string]string{}
		for line := range strings.Lines(string(out)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
			theirs[k] += v + ";"
		}
		g := mustResolve(t, h.options(), alias)
		ours := map[string]string{
			"hostname": g.name, "user": g.user, "port": fmt.Sprint(g.port), "proxyjump": g.jump,
			"addressfamily": first(g.settings.get("addressfamily"), "any"),
			"identityfile":  strings.Join(g.settings.many["identityfile"], ";"), "hostkeyalias": g.settings.get("hostkeyalias"),
		}
		for k, v := range ours {
			if want := strings.TrimSuffix(theirs[k], ";"); !strings.EqualFold(v, want) {
				t.Errorf("%s: %s is %q, ssh says %q", alias, k, v, want)
			}
		}
	}
}

func TestConfigMistakesAreTold(t *testing.T) {
	h := newHome(t)
	for name, c := range map[string]struct{ config, host, want string }{
		"quote":   {"Host \"a\n", "a", "config:1: a quote is not closed"},
		"port":    {"Port 70000\n", "a", "ports are 1 to 65535"},
		"user":    {"User ${NOT_SET_ANYWHERE}\n", "a", "NOT_SET_ANYWHERE"},
		"blank":   {"", "a b", "not the name of a host"},
		"option":  {"", "-oProxyCommand=x", "not the name of a host"},
		"nothing": {"", "", "not the name of a host"},
	} {
		h.write("config", c.config)
		_, err := resolve(Target{Host: c.host}, h.options())
		var e *Error
		if !errors.As(err, &e) || e.Class != Config || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.write("config", "Port 3\n")
	if err := os.Chmod(h.path("config"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := resolve(Target{Host: "a"}, Options{Home: h.dir})
	if err == nil || !strings.Contains(err.Error(), "chmod 600 "+filepath.Join(h.dir, ".ssh", "config")) {
		t.Errorf("writable by others: %v", err)
	}
}

func TestAlgorithmList(t *testing.T) {
	standard, known := []string{"a", "b", "c"}, []string{"a", "b", "c", "old"}
	for value, want := range map[string]string{"": "a b c", "b,a,unknown": "b a", "+old,a": "a b c old", "-b,c*": "a", "^c,old": "c old a b"} {
		if got := strings.Join(algorithmList(value, standard, known), " "); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
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
	for s, want := range map[string]time.Duration{"": 5, "0": 5, "no": 5, "-1": 5, "30": 30 * time.Second, "2m": 2 * time.Minute, "1h1S": time.Hour + time.Second, "9999999999999999": 5} {
		if got := seconds(s, 5); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`Host "a b" c\"d # x`)
	f.Fuzz(func(t *testing.T, line string) { split(line) })
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
