// Package offsitetest is a place for copies of checkpoints for tests: an ssh server of this
// process that does nothing but SFTP, for one key.
package offsitetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// A Host takes copies.
type Host struct {
	Address string      // ssh://copies@127.0.0.1:PORT
	Key     string      // the private key that it lets in, in PEM
	HostKey string      // its own, as in known_hosts
	Away    atomic.Bool // it refuses every connection
}

// Start starts a host that ends with the test.
func Start(t testing.TB) *Host {
	t.Helper()
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(own)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if string(k.Marshal()) != string(allowed.Marshal()) {
			return nil, ssh.ErrNoAuth
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	h := &Host{Address: "ssh://copies@" + l.Addr().String(), Key: string(pem.EncodeToMemory(block)),
		HostKey: "127.0.0.1 " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))}
	go func() {
		for {
			link, err := l.Accept()
			if err != nil {
				return
			}
			if h.Away.Load() {
				link.Close()
				continue
			}
			go serve(link, config)
		}
	}()
	return h
}

func serve(link net.Conn, config *ssh.ServerConfig) {
	defer link.Close()
	_, channels, requests, err := ssh.NewServerConn(link, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, asked, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				_ = r.Reply(r.Type == "subsystem" && strings.HasSuffix(string(r.Payload), "sftp"), nil)
			}
		}()
		server, err := sftp.NewServer(channel)
		if err != nil {
			return
		}
		go func() {
			_ = server.Serve() // until the client leaves
			channel.Close()
		}()
	}
}
