// Package sshx reaches hosts over ssh as the user's own ssh(1) does: it asks
// ssh(1) for its configuration, shares a connection that ssh(1) has open or
// else asks the agent, and checks host keys against known_hosts. A Client keeps
// one connection and runs many commands over it. When the connection dies, its
// commands end with an error of class Unreachable, and the next call dials
// again.
//
// A dead connection says nothing about the other side: a command may still be
// running there.
package sshx

import (
	"context"
	"errors"
	"os"
	"sync"
)

// A Target is one host as a campaign names it. Empty fields come from ~/.ssh/config, as they
// would for ssh(1).
type Target struct {
	Host         string // name, address or alias of ~/.ssh/config
	User         string
	Port         int
	IdentityFile string
	// AcceptNew takes the key of a host that known_hosts does not hold and
	// writes it there. A changed key is refused all the same.
	AcceptNew bool
	// ControlPath is the socket of a connection that the user's ssh(1) has open,
	// in place of the one of ssh's configuration.
	ControlPath string
}

// Options are the paths and programs of the user's ssh. The zero value is the choice of
// ssh(1).
type Options struct {
	// ConfigFile replaces ~/.ssh/config and /etc/ssh/ssh_config, as ssh -F does.
	ConfigFile string
	Home       string // by default the user's
	Agent      string // socket of the agent; by default SSH_AUTH_SOCK

	asker Asker // who types passwords and codes in this dial; nil = no person

	// clock and chance of the back-off, which tests replace
	backoff *backoff
}

// A Client is one host and the one connection to it. It dials when first
// used, and is safe for use by many at once.
type Client struct {
	target Target
	opts   Options
	link   *link

	mu    sync.Mutex
	notes []string
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

// Notes are the settings for this host that muster does not follow, as of the last connection.
func (c *Client) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notes
}

// Connect dials if there is no connection, and says why there can be none.
func (c *Client) Connect(ctx context.Context) error {
	_, err := c.link.get(ctx)
	return err
}

// Login is Connect with a person who types the server's answers: a password, a code.
func (c *Client) Login(ctx context.Context, a Asker) error {
	defer c.link.with(a)()
	err := c.Connect(ctx)
	if e := (*Error)(nil); errors.As(err, &e) && e.control != nil && !e.typed {
		return c.Connect(ctx) // a dial without a person was under way
	}
	return err
}

// Close ends the connection, all that runs over it, and every goroutine.
func (c *Client) Close() error {
	c.link.close()
	return nil
}
