package ssh

import (
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
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers/host/hosttest"
)

// A testHost is an ssh server of this process: it runs commands with a shell
// in an environment of its own, as sshd would.
type testHost struct {
	t     *testing.T
	dir   string // short: sockets lie below
	shell string
	env   []string
	addr  string

	listener net.Listener
	config   *ssh.ServerConfig

	mu    sync.Mutex
	conns map[net.Conn]bool
	work  sync.WaitGroup
	dials int
}

// key makes a key pair in the user's home on this side.
func key(t *testing.T) (ssh.Signer, []byte) {
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
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// newTestHost starts a host; its home and spool are its own.
func newTestHost(t *testing.T) *testHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &testHost{t: t, dir: dir, shell: "/bin/sh", conns: map[net.Conn]bool{}}
	s.env = []string{"HOME=" + dir, "USER=tester", "SHELL=/bin/sh", "PATH=" + os.Getenv("PATH"), "MUSTER_SPOOL=" + s.spool(), "MUSTER_QUEUE_IDLE=5s", beHost + "=1"}
	signer, _ := key(t)
	s.config = &ssh.ServerConfig{NoClientAuth: true, PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	s.config.AddHostKey(signer)
	s.listen("127.0.0.1:0")
	t.Cleanup(func() {
		s.stop()
		hosttest.Kill(t, s.spool())
	})
	s.writeHome(signer.PublicKey())
	return s
}

func (s *testHost) listen(addr string) {
	s.t.Helper()
	var err error
	if s.listener, err = net.Listen("tcp", addr); err != nil {
		s.t.Fatal(err)
	}
	s.addr = s.listener.Addr().String()
	l := s.listener
	s.work.Go(func() { s.accept(l) })
}

// writeHome makes this side's ~/.ssh, which knows the host and has a key.
func (s *testHost) writeHome(hostKey ssh.PublicKey) {
	s.t.Helper()
	_, private := key(s.t)
	files := map[string]string{
		"config":      fmt.Sprintf("Host *\n  IdentityFile %s\n  UserKnownHostsFile %s\n", s.ours("id"), s.ours("known_hosts")),
		"known_hosts": knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, hostKey) + "\n",
		"id":          string(private),
	}
	if err := os.MkdirAll(s.ours(""), 0o700); err != nil {
		s.t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(s.ours(name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *testHost) spool() string           { return filepath.Join(s.dir, "s") }
func (s *testHost) ours(name string) string { return filepath.Join(s.dir, "ssh", name) }

func (s *testHost) options() sshx.Options {
	return sshx.Options{Home: s.dir, Agent: "none", ConfigFiles: []string{s.ours("config")}}
}

// stop ends the server and all connections.
func (s *testHost) stop() {
	_ = s.listener.Close()
	s.cut()
	s.work.Wait()
}

// cut ends all connections; what runs over them loses its streams.
func (s *testHost) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *testHost) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.dials++
		s.mu.Unlock()
		s.work.Go(func() {
			s.serve(c)
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

func (s *testHost) serve(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	config := *s.config
	s.mu.Unlock()
	sc, chans, reqs, err := ssh.NewServerConn(c, &config)
	if err != nil {
		return
	}
	defer sc.Close()
	s.work.Go(func() { ssh.DiscardRequests(reqs) })
	for nc := range chans {
		if nc.ChannelType() != "session" {
			_ = nc.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		s.work.Go(func() { s.session(nc) })
	}
}

func (s *testHost) session(nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	for r := range reqs {
		_ = r.Reply(r.Type == "exec", nil)
		if r.Type != "exec" {
			continue
		}
		s.work.Go(func() { ssh.DiscardRequests(reqs) })
		s.exec(ch, string(r.Payload[4:]))
		return
	}
}

// exec runs a command as sshd does: by the user's shell, with pipes that are
// closed when the channel is.
func (s *testHost) exec(ch ssh.Channel, command string) {
	cmd := exec.Command(s.shell, "-c", command)
	cmd.Env, cmd.Dir = s.env, s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	s.work.Go(func() {
		_, _ = io.Copy(in, ch)
		_ = in.Close()
	})
	_ = cmd.Wait()
	if strings.HasPrefix(cmd.ProcessState.String(), "signal: ") {
		_, _ = ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal        string
			Core          bool
			Message, Lang string
		}{Signal: "KILL"}))
		return
	}
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
}
