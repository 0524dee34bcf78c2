package sshx

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// throughJump connects to the last of the jump hosts, which connects onward.
// The list names hosts from the first to the last; each is resolved like any
// other, and is reached through the one before (ssh_config(5), ProxyJump).
func (h *host) throughJump(ctx context.Context, o Options, depth int) (net.Conn, []io.Closer, error) {
	before, last := "", h.jump
	if i := strings.LastIndexByte(h.jump, ','); i >= 0 {
		before, last = h.jump[:i], h.jump[i+1:]
	}
	t, err := jumpTarget(last)
	if err != nil {
		return nil, nil, err
	}
	if depth >= maxJumps {
		return nil, nil, configError("ProxyJump goes round in circles", fmt.Sprintf("%s is reached through more than %d hosts", t.Host, maxJumps), "")
	}
	hop, err := resolve(ctx, t, o)
	if err != nil {
		return nil, nil, err
	}
	if before != "" {
		hop.jump, hop.proxy = before, ""
	}
	if hop.control.check(ctx) {
		c, err := hop.forward(h.address())
		return c, nil, err
	}
	jump, err := hop.dial(ctx, t, o, depth+1)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.connect)
	defer cancel()
	c, err := jump.client.DialContext(ctx, "tcp", h.address())
	if err != nil {
		jump.end(nil)
		e := h.unreachable(err)
		e.Summary += " through " + hop.String()
		return nil, nil, e
	}
	return c, []io.Closer{closer(func() error { jump.end(nil); return nil })}, nil
}

type closer func() error

func (c closer) Close() error { return c() }

// jumpTarget reads [user@]host[:port] or ssh://[user@]host[:port].
func jumpTarget(s string) (Target, error) {
	bad := configError("cannot read ProxyJump", fmt.Sprintf("%q", s), "write [user@]host[:port]")
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "ssh://"), "/")
	var t Target
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		t.User, s = s[:i], s[i+1:]
	}
	t.Host = s
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		host, port, err := net.SplitHostPort(s)
		if err != nil && strings.HasSuffix(s, "]") {
			host, port, err = s[1:len(s)-1], "22", nil
		}
		if err != nil {
			return t, bad
		}
		if t.Port, err = strconv.Atoi(port); err != nil {
			return t, bad
		}
		t.Host = host
	}
	if t.Host == "" {
		return t, bad
	}
	return t, nil
}
