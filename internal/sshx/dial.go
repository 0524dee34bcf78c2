package sshx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxJumps is the most hosts before the last; more is a circular configuration.
const maxJumps = 8

// dial connects to the target: over the connection that ssh(1) has open, else
// through its jump hosts, and signs in.
func (c *Client) dial(ctx context.Context, a Asker) (connection, error) {
	h, err := resolve(ctx, c.target, c.opts)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.notes = h.settings.notes
	c.mu.Unlock()
	if h.control.open() {
		if !h.control.check(ctx) {
			return nil, h.control.deaf(h.String())
		}
		return newMaster(h.String(), h.control), nil
	}
	o := c.opts
	o.asker = a
	conn, err := h.dial(ctx, c.target, o, 0)
	if err != nil {
		return nil, err // and no nil *conn in an interface
	}
	return conn, nil
}

func (h *host) dial(ctx context.Context, t Target, o Options, depth int) (*conn, error) {
	raw, below, err := h.reach(ctx, o, depth)
	if err != nil {
		return nil, err
	}
	c, err := h.signIn(ctx, raw, below, t, o)
	if err != nil {
		raw.Close()
		closeAll(below)
		return nil, err
	}
	return c, nil
}

func closeAll(below []io.Closer) {
	for _, b := range below {
		b.Close()
	}
}

// reach opens the byte stream to the host's ssh server.
func (h *host) reach(ctx context.Context, o Options, depth int) (net.Conn, []io.Closer, error) {
	switch {
	case h.jump != "":
		return h.throughJump(ctx, o, depth)
	case h.proxy != "":
		c, err := h.throughCommand(o)
		return c, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.connect)
	defer cancel()
	d := &net.Dialer{KeepAlive: -1} // ssh's own questions are asked instead
	if h.bind != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(h.bind)}
	}
	c, err := d.DialContext(ctx, h.network, h.address())
	if err != nil {
		return nil, nil, h.unreachable(err)
	}
	return c, nil, nil
}

// unreachable says why nothing answers, in words.
func (h *host) unreachable(err error) *Error {
	e := &Error{Class: Unreachable, Summary: "cannot reach " + h.String(), Detail: err.Error(), cause: err}
	var dns *net.DNSError
	var timeout net.Error
	var call *os.SyscallError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Detail = "no such host" // which is said already
		e.Hint = "check the name, or add it to ~/.ssh/config"
		if name, port, ok := strings.Cut(h.name, ":"); ok && name != "" && !strings.Contains(port, ":") {
			e.Detail = fmt.Sprintf("%q is not a host name: it includes a port", h.name)
			e.Hint = fmt.Sprintf("write %q and port = %s, or Port %s for it in ~/.ssh/config", name, port, port)
		}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Detail = fmt.Sprintf("no answer within %s", h.connect)
	case errors.As(err, &call):
		e.Detail = call.Err.Error() // "connection refused"; where to is said already
	}
	return e
}

// signIn speaks ssh over the stream: who the host is, then who we are.
func (h *host) signIn(ctx context.Context, raw net.Conn, below []io.Closer, t Target, o Options) (*conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The time in which a person types is not the server's.
	limit := time.AfterFunc(h.connect+authLimit, func() { cancel(context.DeadlineExceeded) })
	defer limit.Stop()
	v, err := newVerifier(h, t, o)
	if err != nil {
		return nil, err
	}
	keys, err := h.collect(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer keys.Close()

	w := newWire(raw)
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer stop()
	silent := time.AfterFunc(h.connect, func() {
		if w.heard.Load() == 0 {
			w.end(context.DeadlineExceeded)
			w.Close()
		}
	})
	defer silent.Stop()

	typing, hungUp := context.WithCancel(ctx)
	defer hungUp()
	go func() {
		select {
		case <-w.gone:
			hungUp()
		case <-typing.Done():
		}
	}()
	person := &conversation{ctx: typing, asker: o.asker, who: h.user + "@" + h.alias, pause: func() { limit.Stop() }, resume: func() { limit.Reset(h.connect + authLimit) }}
	config, err := h.clientConfig(v, keys, person)
	if err != nil {
		return nil, err
	}
	sc, chans, reqs, err := ssh.NewClientConn(w, h.address(), config)
	if person.left != nil && !person.hungUp {
		return nil, person.left
	}
	if err != nil {
		return nil, h.whyNot(ctx, err, w, v, keys, person)
	}
	if !stop() {
		sc.Close()
		return nil, h.unreachable(context.DeadlineExceeded)
	}
	conn := newConn(h.String(), ssh.NewClient(sc, chans, reqs), w, below, h.alive)
	conn.typed = person.rounds > 0
	return conn, nil
}

func (h *host) clientConfig(v *verifier, keys *credentials, p *conversation) (*ssh.ClientConfig, error) {
	transport, err := h.transport()
	if err != nil {
		return nil, err
	}
	algorithms, err := v.algorithms()
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{
		Config: transport,
		User:   h.user,
		Auth:   []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return keys.signers, nil })},
		AuthCallback: func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			if m := keys.next(); m != nil {
				return m, nil
			}
			if slices.Contains(c.AllowedMethods, "publickey") && !slices.Contains(c.TriedMethods, "publickey") && len(keys.signers) > 0 {
				return nil, nil // keys first, as ssh(1)
			}
			return p.method(c)
		},
		HostKeyCallback:   v.check,
		HostKeyAlgorithms: algorithms,
		ClientVersion:     "SSH-2.0-muster",
	}, nil
}

// whyNot turns a failed handshake into an error that a person can act on.
func (h *host) whyNot(ctx context.Context, err error, w *wire, v *verifier, keys *credentials, p *conversation) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "ssh: handshake failed: "), "ssh: ")
	switch {
	case v.failed != nil:
		return v.failed
	case p.rounds > 0 && p.left != nil:
		e := h.wantsLogin(err)
		e.typed = true
		e.Detail = "its ssh server ended the conversation before it was answered"
		return e
	case p.rounds > 0:
		e := h.wantsLogin(err)
		e.typed = true
		e.Summary, e.Detail = fmt.Sprintf("%s does not let %s in", h, h.user), "it took none of the passwords and codes"
		return e
	case p.wanted && len(keys.locked) == 0 && keys.unsigned == 0:
		return h.wantsLogin(err, keys.problems...)
	case keys.unsigned > 0 && ctx.Err() == nil, strings.Contains(text, "unable to authenticate"), strings.Contains(strings.ToLower(text), "too many authentication failures"):
		return h.refused(keys, err)
	case strings.Contains(text, "no common algorithm"):
		return &Error{Class: Config, Summary: h.String() + " and muster share no algorithm", Detail: text, Hint: "its ssh server is very old or very strict", cause: err}
	case errors.Is(w.reason(), context.DeadlineExceeded):
		return h.unreachable(context.DeadlineExceeded)
	case ctx.Err() != nil:
		e := &Error{Class: Unreachable, Summary: "cannot sign in on " + h.String(), Detail: fmt.Sprintf("not done within %s", h.connect+authLimit), cause: err}
		if keys.signing.Load() || keys.unsigned > 0 {
			e.Detail = fmt.Sprintf("the ssh agent did not sign within %s", h.connect+authLimit)
			e.Hint = "it may wait for somebody to confirm, or to touch a token; try: ssh " + h.alias
		}
		return e
	}
	return &Error{Class: Unreachable, Summary: "cannot reach " + h.String(), Detail: "its ssh server ended the conversation: " + text, cause: err, broke: true}
}

// refused says which keys were shown, which could not be, and what to type.
func (h *host) refused(keys *credentials, err error) error {
	e := &Error{Class: Auth, Summary: fmt.Sprintf("%s does not let %s in", h, h.user), cause: err}
	var found []string
	if len(keys.signers) == 0 {
		found = append(found, "no key could be shown")
	} else {
		var shown []string
		for _, s := range keys.signers {
			shown = append(shown, describe(s.PublicKey()))
		}
		found = append(found, "it was shown "+strings.Join(shown, ", "))
	}
	found = append(found, keys.problems...)
	e.Detail = strings.Join(found, "; ")
	switch {
	case len(keys.locked) > 0:
		e.Hint = "unlock it for the agent: ssh-add " + strings.Join(keys.locked, " ")
	case keys.unsigned > 0:
		e.Hint = fmt.Sprintf("the agent may wait for a token, a touch, or somebody to confirm; try: ssh %s", h.alias)
	case len(keys.signers) == 0:
		e.Hint = "add a key to the agent with ssh-add, or name one with IdentityFile in ~/.ssh/config"
	default:
		e.Hint = fmt.Sprintf("try: ssh %s; the key belongs into ~/.ssh/authorized_keys there", h.alias)
	}
	return e
}

// wantsLogin is for a server that asks for a password or a code where nobody can type.
func (h *host) wantsLogin(err error, problems ...string) *Error {
	e := &Error{Class: Auth, Summary: h.alias + " wants you to log in", Detail: strings.Join(problems, "; "), cause: err, Login: h.control.login}
	if e.Login == "" {
		e.Hint = "run muster at a terminal, or install OpenSSH's client"
		return e
	}
	e.control = &h.control
	return e
}
