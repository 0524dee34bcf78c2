package sshx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A testServer is a small ssh server of this process: it runs commands with
// sh, forwards connections, and allows as many sessions as a test says.
type testServer struct {
	t           *testing.T
	listener    net.Listener
	config      *ssh.ServerConfig
	maxSessions int

	connections, refused, peak atomic.Int64
	// deaf makes it answer nothing but what the protocol itself answers.
	deaf atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	work  sync.WaitGroup
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a server with these host keys that lets these users' keys in.
func serve(t *testing.T, hostKeys []ssh.Signer, allowed ...ssh.PublicKey) *testServer {
	t.Helper()
	s := &testServer{t: t, maxSessions: 10}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		for _, a := range allowed {
			if bytes.Equal(a.Marshal(), key.Marshal()) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("not allowed")
	}}
	for _, k := range hostKeys {
		s.config.AddHostKey(k)
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.work.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *testServer) stop() {
	s.listener.Close()
	s.cut()
	s.work.Wait()
}

// cut ends every connection without a word.
func (s *testServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

// set changes what connections from now on meet.
func (s *testServer) set(change func(*ssh.ServerConfig)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.config)
}

func (s *testServer) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

func (s *testServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.connections.Add(1)
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.work.Go(func() { s.handle(c) })
	}
}

func (s *testServer) handle(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	config := *s.config
	s.mu.Unlock()
	_, chans, reqs, err := ssh.NewServerConn(c, &config)
	if err != nil {
		return
	}
	s.work.Go(func() {
		for r := range reqs {
			if r.WantReply && !s.deaf.Load() {
				r.Reply(false, nil)
			}
		}
	})
	var open atomic.Int64 // on this connection, as OpenSSH counts
	for ch := range chans {
		switch {
		case ch.ChannelType() == "direct-tcpip":
			s.work.Go(func() { forward(ch) })
		case open.Load() >= int64(s.maxSessions):
			s.refused.Add(1)
			ch.Reject(ssh.ConnectionFailed, "open failed") // as OpenSSH beyond MaxSessions
		default:
			n := open.Add(1)
			s.peak.Store(max(s.peak.Load(), n))
			s.work.Go(func() {
				defer open.Add(-1)
				s.session(ch)
			})
		}
	}
}

func (s *testServer) session(nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	for r := range reqs {
		if r.Type != "exec" {
			r.Reply(false, nil)
			continue
		}
		r.Reply(true, nil)
		go ssh.DiscardRequests(reqs)
		s.exec(ch, string(r.Payload[4:]))
		return
	}
}

func (s *testServer) exec(ch ssh.Channel, command string) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	in, _ := cmd.StdinPipe()
	if err := cmd.Start(); err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(in, ch)
		in.Close()
		select {
		case <-ended:
		default:
		}
	}()
	cmd.Wait()
	close(ended)
	if sig := cmd.ProcessState.String(); strings.HasPrefix(sig, "signal: ") {
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal  string
			Core    bool
			Message string
			Lang    string
		}{Signal: "KILL"}))
		return
	}
	ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
}

func forward(nc ssh.NewChannel) {
	var to struct {
		Host  string
		Port  uint32
		From  string
		FromP uint32
	}
	ssh.Unmarshal(nc.ExtraData(), &to)
	c, err := net.Dial("tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port)))
	if err != nil {
		nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	go func() {
		io.Copy(c, ch)
		c.Close()
	}()
	io.Copy(ch, c)
	ch.Close()
}

// A home is a user's home with a .ssh below.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	t.Helper()
	h := home{t, t.TempDir()}
	if err := os.Mkdir(h.path(""), 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h home) path(name string) string { return filepath.Join(h.dir, ".ssh", name) }

func (h home) write(name, text string) string {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// key writes a new key pair and returns the public half.
func (h home) key(name, passphrase string) ssh.PublicKey {
	h.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(name, string(pem.EncodeToMemory(block)))
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		h.t.Fatal(err)
	}
	return signer.PublicKey()
}

func authorized(k ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}

// options read this home alone, and wait little between dials.
func (h home) options() Options {
	return Options{Home: h.dir, Agent: "none", ConfigFiles: []string{h.path("config")}, backoff: quick()}
}

func quick() *backoff {
	return &backoff{first: 1, long: 1, chance: func() float64 { return 0 }}
}
