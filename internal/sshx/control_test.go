package sshx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/sshx/sshtest"
)

// wantsCode makes a server ask for a password and a code, in two rounds, and
// counts how often it was begun.
func wantsCode(s *sshtest.Server, begun *int) {
	s.Set(func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			*begun++
			for _, q := range []struct {
				text, answer string
				echo         bool
			}{{"Password: ", "secret", false}, {"Code: ", "123456", true}} {
				got, err := ask("", "", []string{q.text}, []bool{q.echo})
				if err != nil || got[0] != q.answer {
					return nil, fmt.Errorf("wrong: %v", err)
				}
			}
			return nil, nil
		}
	})
}

// openMaster has ssh(1) share a connection to the box, and returns what ends it.
func openMaster(t *testing.T, h home, path string) (end func()) {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "ssh"), "-F", h.path("config"), "-i", h.path("id_ed25519"), "-M", "-S", path, "-N", "box")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	for range 3000 {
		if (control{program: "ssh", path: path, host: "box"}).check(context.Background()) {
			return end
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("ssh -M: %s", &said)
	return nil
}

// TestSharedConnection: what ssh(1) has open is used, and where the server wants
// somebody to type, it is asked once, until a connection is open again.
func TestSharedConnection(t *testing.T) {
	h, hostKey := newHome(t), newKey(t)
	me := h.key("id_ed25519", "")
	s := serve(t, []ssh.Signer{hostKey}, me)
	keys := func() {
		s.Set(func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }
		})
	}
	h.knows(s, hostKey.PublicKey(), "UserKnownHostsFile "+h.path("known_hosts")+"\n")
	path := h.path("cm") // below the limit of a socket's path
	c := New(Target{Host: "box", ControlPath: path}, h.options())
	defer c.Close()
	end := openMaster(t, h, path)
	st, err := c.Open(context.Background(), "echo ready; cat; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(st, make([]byte, 6))
	_, _ = st.Write([]byte("given"))
	_ = st.CloseWrite()
	got, err := io.ReadAll(st)
	exit, endErr := st.Wait()
	if err != nil || endErr != nil || string(got) != "given" || exit.Code != 3 {
		t.Errorf("%q, %v; %+v, %v", got, err, exit, endErr)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	var out bytes.Buffer
	if exit, err := c.Run(context.Background(), "cat", bytes.NewReader(big), &out); err != nil || exit.Code != 0 || !bytes.Equal(out.Bytes(), big) {
		t.Errorf("%d of %d bytes; %+v, %v", out.Len(), len(big), exit, err)
	}
	if exit, err := c.Run(context.Background(), "exit 255", nil, nil); err != nil || exit.Code != 255 {
		t.Errorf("a command's own 255: %+v, %v", exit, err)
	}
	if n := s.Connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}

	running, err := c.Open(context.Background(), "echo ready; cat")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(running, make([]byte, 6))
	begun := 0
	wantsCode(s, &begun)
	end()
	if _, err := io.ReadAll(running); !isUnreachable(err) {
		t.Errorf("read: %v", err)
	}
	if _, err := running.Wait(); !isUnreachable(err) {
		t.Errorf("wait: %v", err)
	}
	for range 5 {
		_, err := c.Run(context.Background(), "true", nil, nil)
		wantError(t, err, Auth, "box wants you to log in")
		var e *Error
		if errors.As(err, &e); e == nil || e.Login != "ssh -F "+h.path("config")+" -M -S "+path+" box" {
			t.Errorf("%+v", e)
		}
	}
	if n := s.Connections.Load(); n != 2 || begun != 0 {
		t.Errorf("%d connections, %d logins begun", n, begun)
	}
	keys()
	openMaster(t, h, path)
	out.Reset()
	if _, err := c.Run(context.Background(), "echo again", nil, &out); err != nil || out.String() != "again\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if n := s.Connections.Load(); n != 3 {
		t.Errorf("%d connections", n)
	}
}

// A typist answers prompts in order.
type typist struct {
	answers []string
	seen    []string
}

func (p *typist) Ask(_ context.Context, q Prompt) (out []string, err error) {
	for _, question := range q.Questions {
		p.seen = append(p.seen, fmt.Sprintf("%s %t", question.Text, question.Echo))
		if len(p.answers) == 0 {
			return nil, errors.New("left")
		}
		out, p.answers = append(out, p.answers[0]), p.answers[1:]
	}
	return out, nil
}

// TestLogin: password and code are asked for once a connection, again after a
// wrong one, and not more often than ssh(1) asks.
func TestLogin(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		asked   int
		want    string // of the error
	}{
		"right":         {[]string{"secret", "123456"}, 2, ""},
		"second try":    {[]string{"secret", "1", "secret", "123456"}, 4, ""},
		"never right":   {[]string{"a", "b", "c", "d"}, 3, "it took none of the passwords and codes"},
		"somebody left": {[]string{"secret"}, 2, "left"},
	} {
		t.Run(name, func(t *testing.T) {
			h, hostKey := newHome(t), newKey(t)
			s := serve(t, []ssh.Signer{hostKey})
			begun := 0
			wantsCode(s, &begun)
			h.knows(s, hostKey.PublicKey(), "UserKnownHostsFile "+h.path("known_hosts")+"\n")
			client := New(Target{Host: "box"}, h.options())
			defer client.Close()
			wantError(t, client.Connect(context.Background()), Auth, "wants you to log in")
			p := &typist{answers: c.answers}
			err := client.Login(context.Background(), p)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if len(p.seen) != c.asked || p.seen[0] != "(someone@box) Password:  false" || c.asked > 1 && c.answers[0] == "secret" && p.seen[1] != "(someone@box) Code:  true" {
				t.Errorf("asked %q", p.seen)
			}
			if err == nil {
				for range 3 {
					if _, err := client.Run(context.Background(), "true", nil, nil); err != nil {
						t.Error(err)
					}
				}
			}
			if n := s.Connections.Load(); n != 2 { // one for which nobody was there
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestPasswordThenCode: a password of its own, and then a code.
func TestPasswordThenCode(t *testing.T) {
	h, hostKey := newHome(t), newKey(t)
	s := serve(t, []ssh.Signer{hostKey})
	s.Set(func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.PasswordCallback = func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if string(password) != "secret" {
				return nil, errors.New("wrong")
			}
			return nil, &ssh.PartialSuccessError{Next: ssh.ServerAuthCallbacks{KeyboardInteractiveCallback: func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				if got, err := ask("", "", []string{"Code: "}, []bool{true}); err != nil || got[0] != "1" {
					return nil, errors.New("wrong")
				}
				return nil, nil
			}}}
		}
	})
	h.knows(s, hostKey.PublicKey(), "UserKnownHostsFile "+h.path("known_hosts")+"\n")
	client := New(Target{Host: "box"}, h.options())
	defer client.Close()
	p := &typist{answers: []string{"no", "secret", "2", "1"}}
	if err := client.Login(context.Background(), p); err != nil {
		t.Errorf("%v; asked %q", err, p.seen)
	}
	if want := "someone@box's password:  false"; len(p.seen) != 4 || p.seen[0] != want {
		t.Errorf("asked %q", p.seen)
	}
}
