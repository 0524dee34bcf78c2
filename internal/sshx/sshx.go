// Package sshx reaches hosts over ssh the way the user's own ssh(1) does: it
// reads ~/.ssh/config, asks the agent, and holds host keys against
// known_hosts. One Client keeps one connection and runs many commands over it;
// when the connection dies, what was running over it ends with an error of
// class Unreachable, and the next call dials again.
//
// What a dead connection says about the far side is nothing: a command that
// was running there may run on.
package sshx

import (
	"context"
	"os"
	"strings"
)

// A Target is one host as a campaign names it. What is empty comes from
// ~/.ssh/config, as it would for ssh(1).
type Target struct {
	Host         string // name, address or alias of ~/.ssh/config
	User         string
	Port         int
	IdentityFile string
	// AcceptNew takes the key of a host that known_hosts does not hold and
	// writes it there. A changed key is refused all the same.
	AcceptNew bool
}

// Options say where the user's side of ssh lives. The zero value is what
// ssh(1) would use.
type Options struct {
	// ConfigFiles replace ~/.ssh/config and /etc/ssh/ssh_config, as ssh -F does.
	ConfigFiles []string
	Home        string // by default the user's
	Agent       string // socket of the agent; by default SSH_AUTH_SOCK

	// clock and chance of the back-off, which tests replace
	backoff *backoff
}

// A Client is one host and the one connection to it. It dials when first
// used, and is safe for use by many at once.
type Client struct {
	target Target
	opts   Options
	link   *link
}

// New prepares a client; nothing is read or dialled.
func New(t Target, o Options) *Client {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.Agent == "" {
		o.Agent = os.Getenv("SSH_AUTH_SOCK")
	}
	c := &Client{target: t, opts: o}
	c.link = newLink(c.dial, o.backoff)
	return c
}

// Notes are what ~/.ssh/config says for this host and muster does not follow,
// with file and line.
func (c *Client) Notes() []string {
	h, err := resolve(c.target, c.opts)
	if err != nil {
		return nil // dialling says so
	}
	return h.settings.notes
}

// Connect dials if there is no connection, and says why there can be none.
func (c *Client) Connect(ctx context.Context) error {
	_, err := c.link.get(ctx)
	return err
}

// Close ends the connection, all that runs over it, and every goroutine.
func (c *Client) Close() error {
	c.link.close()
	return nil
}

// Quote writes words so that a POSIX shell reads back exactly them.
func Quote(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}
