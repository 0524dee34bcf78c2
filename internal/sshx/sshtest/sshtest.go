// Package sshtest runs ssh servers inside the test process. Each runs commands
// with a shell, as sshd does, and authenticates users as its test configures.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A Server listens on this machine until its test ends.
type Server struct {
	// Command makes the process of a command line; its standard streams are set.
	Command func(line string) *exec.Cmd
	// Sessions are as many as one connection may have at once.
	Sessions int
	// Deaf makes it answer only at the level of the protocol itself.
	Deaf atomic.Bool
	// Drops makes it close the next channel that asks for a command, and the connection after it.
	Drops atomic.Bool
	// Closes makes it close the next channel that asks for a command, without an answer.
	Closes atomic.Bool

	Connections, Refused, Peak atomic.Int64 // ever; sessions refused; most sessions of a connection

	t        testing.TB
	listener net.Listener
	work     sync.WaitGroup
	mu       sync.Mutex
	config   *ssh.ServerConfig
	conns    map[net.Conn]bool
}

// New starts a server with some host keys.
func New(t testing.TB, config *ssh.ServerConfig, hostKeys ...ssh.Signer) *Server {
	t.Helper()
	for _, k := range hostKeys {
		config.AddHostKey(k)
	}
	s := &Server{t: t, config: config, Sessions: 10, conns: map[net.Conn]bool{},
		Command: func(line string) *exec.Cmd { return exec.Command("sh", "-c", line) }}
	s.Listen("127.0.0.1:0")
	t.Cleanup(s.Stop)
	return s
}

// Listen begins again after Stop.
func (s *Server) Listen(addr string) {
	s.t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.listener = l
	s.work.Go(func() { s.accept(l) })
}

// Stop ends the server and all connections, and waits for the commands.
func (s *Server) Stop() {
	s.listener.Close()
	s.Cut()
	s.work.Wait()
}

// Cut ends every connection without notice; commands on it lose their streams.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Set changes the settings for later connections.
func (s *Server) Set(change func(*ssh.ServerConfig)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.config)
}

// Addr is where it listens, or last did.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Port is that of Addr.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Key makes a key pair, and the text of its private half.
func Key(t testing.TB, passphrase string) (ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}
