package sshx

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/sshx/sshtest"
)

// box is a server with the given host keys and a home whose key it lets in.
func box(t *testing.T, keys ...ssh.Signer) (*sshtest.Server, home) {
	t.Helper()
	h := newHome(t)
	s := serve(t, keys, h.key("id_ed25519", ""))
	h.write("config", boxConfig(s))
	return s, h
}

func connect(t *testing.T, h home, target Target) error {
	t.Helper()
	target.Host = "box"
	c := New(target, h.options())
	t.Cleanup(func() { c.Close() })
	return c.Connect(context.Background())
}

func wantError(t *testing.T, err error, class Class, parts ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Class != class {
		t.Errorf("want %s, got %v", class, err)
		return
	}
	for _, p := range parts {
		if !strings.Contains(e.Error(), p) {
			t.Errorf("%q is missing in: %v", p, e)
		}
	}
}

func TestAChangedKeyIsRefused(t *testing.T) {
	was, is := newKey(t), newKey(t)
	s, h := box(t, is)
	h.write("known_hosts", "# comment\n\n"+knownLine(s, was.PublicKey()))
	for _, accept := range []bool{false, true} {
		wantError(t, connect(t, h, Target{AcceptNew: accept}), HostKey, "has changed", h.path("known_hosts")+":3",
			ssh.FingerprintSHA256(was.PublicKey()), ssh.FingerprintSHA256(is.PublicKey()), "ssh-keygen -R '[127.0.0.1]:"+fmt.Sprint(s.Port())+"'")
	}
}

func TestAnUnknownKeyIsRefusedUnlessAskedFor(t *testing.T) {
	key := newKey(t)
	s, h := box(t, key)
	// What ssh's own configuration says makes muster no more trusting.
	h.write("config", "StrictHostKeyChecking no\n"+boxConfig(s))
	wantError(t, connect(t, h, Target{}), HostKey, "is not known", ssh.FingerprintSHA256(key.PublicKey()), "ssh box", "accept_new = true")
	if _, err := os.Stat(h.path("known_hosts")); !os.IsNotExist(err) {
		t.Error("a refused key was written down")
	}
	h.write("known_hosts", "other "+authorized(newKey(t).PublicKey())) // no newline at its end
	if err := connect(t, h, Target{AcceptNew: true}); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(h.path("known_hosts"))
	if want := "\n" + knownLine(s, key.PublicKey()); !strings.HasSuffix(string(text), want) {
		t.Errorf("known_hosts is %q", text)
	}
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

func TestAcceptedKeysAreHashedWhereSSHWould(t *testing.T) {
	s, h := box(t, newKey(t))
	h.write("config", "HashKnownHosts yes\n"+boxConfig(s))
	if err := connect(t, h, Target{AcceptNew: true}); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(h.path("known_hosts"))
	if !strings.HasPrefix(string(text), "|1|") || strings.Contains(string(text), "127.0.0.1") {
		t.Errorf("known_hosts is %q", text)
	}
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

// TestTheKindOfKeyThatIsKnownIsAskedFor: a host with several keys shows the
// one that can be judged, whichever it likes best.
func TestTheKindOfKeyThatIsKnownIsAskedFor(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	keys := []ssh.Signer{newKey(t), other}
	for _, k := range keys {
		s, h := box(t, keys...)
		h.write("known_hosts", knownLine(s, k.PublicKey()))
		if err := connect(t, h, Target{}); err != nil {
			t.Errorf("%s: %v", k.PublicKey().Type(), err)
		}
	}
}

func TestKnownHostsLines(t *testing.T) {
	key := newKey(t)
	s, h := box(t, key)
	salt := []byte("12345678901234567890")
	k := authorized(key.PublicKey())
	name := fmt.Sprintf("[127.0.0.1]:%d", s.Port())
	for text, known := range map[string]bool{
		"127.0.0.1 " + k:                  true, // as ssh: without a port, where none has it
		"127.0.0.* " + k:                  true,
		"[127.0.0.?]:* " + k:              true,
		"*,!127.0.0.1,!" + name + " " + k: false,
		"a,b," + name + " " + k:           true,
		"|1|" + b64(salt) + "|" + b64(hashName(salt, name)) + " " + k: true,
		"|1|" + b64(salt) + "|" + b64(hashName(salt, "x")) + " " + k:  false,
		"this line is broken\n" + name + " " + k:                      true,
		"@unknown " + name + " " + k:                                  false,
		"[127.0.0.1]:1 " + k:                                          false,
	} {
		h.write("known_hosts", text+"\n")
		if err := connect(t, h, Target{}); (err == nil) != known {
			t.Errorf("%s\n%v", text, err)
		}
	}
	h.write("known_hosts", name+" "+k+"\n@revoked * "+k+"\n")
	wantError(t, connect(t, h, Target{}), HostKey, "is revoked", "known_hosts:2")

	h.write("config", "HostKeyAlias Alias\nUserKnownHostsFile ~/.ssh/one ~/.ssh/two\n"+boxConfig(s))
	h.write("two", "alias "+k+"\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Errorf("HostKeyAlias: %v", err)
	}
}

func TestHostCertificates(t *testing.T) {
	authority, key := newKey(t), newKey(t)
	for name, c := range map[string]struct {
		principals []string
		lasts      time.Duration
		known      string
		want       string // of the error; empty: let in
	}{
		"valid":           {[]string{"127.0.0.1"}, time.Hour, "@cert-authority * ", ""},
		"another name":    {[]string{"elsewhere"}, time.Hour, "@cert-authority * ", "not valid for it"},
		"over":            {[]string{"127.0.0.1"}, -time.Minute, "@cert-authority * ", "expired"},
		"other authority": {[]string{"127.0.0.1"}, time.Hour, "@cert-authority elsewhere ", "is not known"},
		"revoked":         {[]string{"127.0.0.1"}, time.Hour, "@revoked * ", "revoke"},
	} {
		cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: c.principals, ValidAfter: 0, ValidBefore: uint64(time.Now().Add(c.lasts).Unix())}
		if err := cert.SignCert(rand.Reader, authority); err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewCertSigner(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		_, h := box(t, signer)
		h.write("known_hosts", c.known+authorized(authority.PublicKey())+"\n")
		switch err := connect(t, h, Target{}); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "":
			wantError(t, err, HostKey, c.want)
		}
	}
}

// TestAKnownKeyInACertificate: an authority nobody knows takes nothing away
// from a key that is known (golang.org/issue/33366).
func TestAKnownKeyInACertificate(t *testing.T) {
	authority, key := newKey(t), newKey(t)
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	signer, _ := ssh.NewCertSigner(cert, key)
	s, h := box(t, signer)
	h.write("known_hosts", knownLine(s, key.PublicKey()))
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
