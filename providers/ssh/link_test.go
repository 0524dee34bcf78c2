package ssh

import (
	"errors"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/sshx/sshtest"
	"github.com/muster-run/muster/providers"
)

// TestCutLink: what is cut off is unreachable, and the next call finds the
// way again over a new connection.
func TestCutLink(t *testing.T) {
	// Requirement: CB-15, WCH-09
	t.Parallel()
	h := newTestHost(t)
	s, b := provider(t, h), backendOn(t, h, shared)
	if err := asked(t, s, b); err != nil {
		t.Fatal(err)
	}
	submitTo(t, s, b.Name, jobOn(b, "", 1, "true"))
	ended := make(chan error, 1)
	watching := make(chan struct{})
	go func() {
		first := true
		ended <- s.Watch(t.Context(), providers.WatchRequest{Backend: b.Name}, func(providers.Batch) error {
			if first {
				close(watching)
			}
			first = false
			return nil
		})
	}()
	<-watching
	h.Cut()
	wantFault(t, <-ended, providers.Unreachable, "Running jobs continue")
	if _, err := s.Pools(t.Context(), b.Name); err != nil {
		t.Error(err)
	}
	if n := h.Connections.Load(); n != 2 {
		t.Errorf("%d connections were made, want one and another", n)
	}
}

// TestOneConnectionForAll: two backends on one host share its connection.
func TestOneConnectionForAll(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	s, b := provider(t, h), backendOn(t, h, shared)
	second := b
	second.Name, second.Lineage = "ssh.other", "other"
	if err := errors.Join(asked(t, s, b), asked(t, s, second)); err != nil {
		t.Fatal(err)
	}
	if n := h.Connections.Load(); n != 1 {
		t.Errorf("%d connections for two backends on one host", n)
	}
}

func TestRefusedKey(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.Set(func(c *ssh.ServerConfig) {
		c.NoClientAuth = false
		c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, errors.New("no") }
	})
	wantFault(t, asked(t, provider(t, h), backendOn(t, h, shared)), providers.Auth)
}

func TestChangedHostKey(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	other, _ := sshtest.Key(t, "")
	h.writeHome(other.PublicKey())
	wantFault(t, asked(t, provider(t, h), backendOn(t, h, shared)), providers.Auth, "known_hosts:1")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for settings, says := range map[string]string{
		`{}`:                                   "neither host nor hosts",
		`{"host":"a","hosts":["b"]}`:           "both host and hosts",
		`{"host":"-oProxyCommand=x"}`:          "not the name of a host",
		`{"hosts":["a","b","a"]}`:              "named twice",
		`{"host":"$(id>x)"}`:                   "not the name of a host",
		`{"hosts":["$(id)@h"]}`:                "not the name of a user",
		`{"host":"a","user":"-oX"}`:            "not the name of a user",
		`{"host":"a","control_path":"cm"}`:     "not a path of a control socket",
		`{"host":"[::1]"}`:                     `"[::1]" is not the name of a host; write "::1"`,
		`{"hosts":["ada@[2001:db8::7]:2222"]}`: `write "2001:db8::7", and the port on its own: port = 2222`,
		`{"hosts":["a/b"]}`:                    "not the name of a host",
		`{"host":"a","port":70000}`:            "port 70000",
		`{"host":"a","install_dir":"here"}`:    "install_dir",
		`{"host":"a","spool":"here"}`:          "spool",
		`{"host":"a","install_dir":"/a\n/b"}`:  "line break",
		`{"host":"a","gpu_free_max":-1}`:       "gpu_free_max",
		`{"host":3}`:                           "cannot be read",
	} {
		err := New().Configure(t.Context(), providers.Backend{Name: "ssh.lab", Type: "ssh", Config: []byte(settings)})
		wantFault(t, err, providers.Invalid, says)
	}
}
