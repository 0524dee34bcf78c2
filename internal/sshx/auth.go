package sshx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// credentials are the keys that a client can show a server: those of the agent and of files,
// in the order ssh(1) has, and why others could not be used.
type credentials struct {
	signers  []ssh.Signer
	problems []string // keys that could not be used, and why
	locked   []string // key files whose passphrase only the agent can know
	agent    net.Conn

	signing  atomic.Bool // a signature has been asked for, and is not there yet
	unsigned int         // signers up to the last that did not sign
	resumed  int         // how many of them have been passed over
}

var defaultKeys = []string{"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk"}

// isDefault reports whether ssh lists the keys that it tries where none is named; a missing
// default is no news.
func isDefault(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool {
		return !slices.Contains(defaultKeys, n) && n != "~/.ssh/id_xmss" && n != "~/.ssh/id_dsa"
	})
}

// collect gathers the keys for one host. The agent is spoken to until Close.
func (h *host) collect(ctx context.Context, t Target, o Options) (*credentials, error) {
	if isDefault(h.settings.values["identityfile"]) {
		delete(h.settings.values, "identityfile")
	}
	files, err := h.files("identityfile", o.Home)
	if err != nil {
		return nil, err
	}
	if t.IdentityFile != "" {
		p, err := h.tokens(o.Home).path(t.IdentityFile, o.Home)
		if err != nil {
			return nil, configError("cannot expand identity_file", err.Error(), "")
		}
		if _, err := os.Stat(p); err != nil {
			return nil, configError("cannot read identity_file", err.Error(), "")
		}
		files = append([]string{p}, files...)
	}
	only := strings.EqualFold(h.settings.get("identitiesonly"), "yes")
	explicit := len(files) > 0
	if !explicit {
		if files, err = h.files("", o.Home, defaultKeys...); err != nil {
			return nil, err
		}
	}
	c := &credentials{}
	held := c.fromAgent(ctx, h, o)
	named := c.fromFiles(files, explicit, held)
	certFiles, err := h.files("certificatefile", o.Home)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.order(named, held, only, append(certFiles, certsOf(files)...))
	c.witness()
	return c, nil
}

// Close ends the talk with the agent.
func (c *credentials) Close() {
	if c.agent != nil {
		c.agent.Close()
	}
}

// fromAgent lists the agent's keys. It reports an agent that does not answer, and continues
// without it.
func (c *credentials) fromAgent(ctx context.Context, h *host, o Options) []ssh.Signer {
	socket := o.Agent
	switch v := h.settings.get("identityagent"); {
	case v == "" || v == "SSH_AUTH_SOCK":
	case strings.EqualFold(v, "none"):
		return nil
	case strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "${"):
		socket = os.Getenv(v[1:])
	default:
		p, err := h.tokens(o.Home).path(v, o.Home)
		if err != nil {
			c.problems = append(c.problems, "IdentityAgent: "+err.Error())
			return nil
		}
		socket = p
	}
	if socket == "" {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		c.problems = append(c.problems, "the ssh agent does not answer: "+err.Error())
		return nil
	}
	c.agent = conn
	conn.SetDeadline(time.Now().Add(h.connect)) // listing its keys needs no confirmation
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		c.problems = append(c.problems, "the ssh agent does not answer: "+err.Error())
		return nil
	}
	at, _ := ctx.Deadline()
	conn.SetDeadline(at)
	return signers
}

// fromFiles are the signers of the named keys, in order; the agent signs for
// those that it holds.
func (c *credentials) fromFiles(files []string, explicit bool, held []ssh.Signer) []ssh.Signer {
	var out []ssh.Signer
	for _, f := range files {
		signer, err := c.fromFile(f, held)
		switch {
		case err == nil:
			out = append(out, signer)
		case os.IsNotExist(err) && !explicit:
		default:
			c.problems = append(c.problems, err.Error())
		}
	}
	return out
}

func (c *credentials) fromFile(file string, held []ssh.Signer) (ssh.Signer, error) {
	if pub := publicKey(file); pub != nil {
		if s := holderOf(pub, held); s != nil {
			return s, nil
		}
	}
	if err := private(file); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer, nil
	case errors.As(err, &locked):
		if s := holderOf(locked.PublicKey, held); s != nil {
			return s, nil
		}
		c.locked = append(c.locked, file)
		return nil, fmt.Errorf("%s is locked with a passphrase, and the agent does not hold it", file)
	}
	if _, _, _, _, notPublic := ssh.ParseAuthorizedKey(data); notPublic == nil {
		return nil, fmt.Errorf("%s is a public key whose private half the agent does not hold", file)
	}
	return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "ssh: "))
}

// private refuses a key that others can read, as ssh(1) does.
func private(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 && !strings.HasSuffix(file, ".pub") {
		return fmt.Errorf("%s can be read by others (mode %04o) and is not used: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	return nil
}

// publicKey is the public half beside a key file, or the file itself.
func publicKey(file string) ssh.PublicKey {
	for _, f := range []string{file + ".pub", file} {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if pub, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
			return pub
		}
	}
	return nil
}

func holderOf(pub ssh.PublicKey, held []ssh.Signer) ssh.Signer {
	if pub == nil {
		return nil
	}
	for _, s := range held {
		if bytes.Equal(s.PublicKey().Marshal(), pub.Marshal()) {
			return s
		}
	}
	return nil
}

// order puts the keys as ssh(1) tries them: certificates of named keys, named
// keys, the agent's others. Servers count tries, so the likely ones come first
// and none comes twice.
func (c *credentials) order(named, held []ssh.Signer, only bool, certFiles []string) {
	seen := map[string]bool{}
	add := func(s ssh.Signer) {
		if id := string(s.PublicKey().Marshal()); !seen[id] {
			seen[id] = true
			c.signers = append(c.signers, s)
		}
	}
	all := append(append([]ssh.Signer{}, named...), held...)
	for _, f := range certFiles {
		if s, err := certified(f, all); err != nil {
			c.problems = append(c.problems, err.Error())
		} else if s != nil {
			add(s)
		}
	}
	for _, s := range named {
		for _, h := range held { // the agent may hold certificates of it
			if cert, ok := h.PublicKey().(*ssh.Certificate); ok && bytes.Equal(cert.Key.Marshal(), s.PublicKey().Marshal()) {
				add(h)
			}
		}
		add(s)
	}
	if !only {
		for _, s := range held {
			add(s)
		}
	}
}

// certsOf are the certificates beside keys, by convention.
func certsOf(files []string) []string {
	var out []string
	for _, f := range files {
		cert := strings.TrimSuffix(f, ".pub") + "-cert.pub"
		if _, err := os.Stat(cert); err == nil {
			out = append(out, cert)
		}
	}
	return out
}

// certified joins a certificate with the key it speaks of; nil when that key
// is not at hand.
func certified(file string, keys []ssh.Signer) (ssh.Signer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", file, err)
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("%s is no certificate", filepath.Base(file))
	}
	s := holderOf(cert.Key, keys)
	if s == nil {
		return nil, nil
	}
	return ssh.NewCertSigner(cert, s)
}
