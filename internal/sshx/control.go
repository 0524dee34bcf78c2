package sshx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/subprocess"
)

// maxSocketPath is the longest path of a socket that every system takes, with
// room for the suffix under which ssh(1) makes it (unix(7), sun_path).
const maxSocketPath = 80

// checkTimeout bounds `ssh -O check`, which asks a process of this machine.
const checkTimeout = 10 * time.Second

// A control is where ssh(1) shares an open connection (ssh_config(5),
// ControlPath), and how a person opens one.
type control struct {
	program string // ssh(1); "" where none is installed
	path    string
	host    string
	login   string // the command that opens it
}

func controlOf(h *host, t Target, o Options) control {
	c := control{program: client(), path: off(h.settings.get("controlpath")), host: t.Host}
	if c.program == "" {
		return control{}
	}
	words := []string{"ssh"}
	if file, err := o.configFile(); err == nil && file != "" {
		words = append(words, "-F", file)
	}
	mode := strings.ToLower(h.settings.get("controlmaster"))
	if shares := mode == "auto" || mode == "yes" || mode == "autoask"; c.path == "" || t.ControlPath != "" || !shares {
		if c.path == "" {
			c.path = ownPath(t, o.Home)
		}
		words = append(words, "-M", "-S", tilde(c.path, o.Home))
	}
	if t.IdentityFile != "" {
		words = append(words, "-i", t.IdentityFile)
	}
	if t.Port != 0 {
		words = append(words, "-p", strconv.Itoa(t.Port))
	}
	name := t.Host
	if t.User != "" {
		name = t.User + "@" + t.Host
	}
	for i, w := range append(words, name) {
		if i > 0 {
			c.login += " "
		}
		c.login += plain(w)
	}
	return c
}

// ownPath is where a person is asked to open a connection where ssh's
// configuration names no place.
func ownPath(t Target, home string) string {
	name := "muster-" + t.Host
	if t.User != "" {
		name = "muster-" + t.User + "@" + t.Host
	}
	if t.Port != 0 {
		name += "-" + strconv.Itoa(t.Port)
	}
	path := filepath.Join(home, ".ssh", name)
	if len(path) > maxSocketPath || plain(name) != name || strings.ContainsAny(name, "/%~") {
		sum := sha256.Sum256([]byte(name))
		path = filepath.Join(home, ".ssh", "muster-"+hex.EncodeToString(sum[:6]))
	}
	return path
}

// tilde shortens a path below the home, as a shell reads it back.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" && home == passwdHome() && plain(rest) == rest {
		return "~/" + rest
	}
	return path
}

// plain quotes a word for a shell where it needs quotes.
func plain(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-~", r))
	}) {
		return shell.Enclose(word)
	}
	return word
}

// open reports whether somebody listens on the socket, which must be the
// user's own. It asks this machine alone.
func (c control) open() bool {
	if c.program == "" || c.path == "" {
		return false
	}
	info, err := os.Lstat(c.path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return false
	}
	conn, err := net.DialTimeout("unix", c.path, time.Second)
	if errors.Is(err, syscall.ECONNREFUSED) {
		// Its ssh was killed. ssh -M shares nothing while it is there; ssh(1)
		// itself removes such a one where ControlMaster is auto (mux.c, muxclient).
		_ = os.Remove(c.path)
	}
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// deaf is for a connection whose owner does not answer: the host is not asked
// again behind its back.
func (c control) deaf(host string) *Error {
	return &Error{Class: Unreachable, Summary: "the ssh that has a connection to " + host + " open does not answer", Detail: c.path,
		Hint: "end it: ssh -S " + plain(c.path) + " -O exit " + plain(c.host)}
}

// check asks the connection's owner whether it can be shared.
func (c control) check(ctx context.Context) bool {
	if !c.open() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, c.args("-O", "check")...)
	return subprocess.Run(cmd) == nil
}

// args are those of ssh(1) over the open connection. It reads no configuration,
// asks nothing, and where the connection is gone it makes none of its own:
// ProxyCommand leads nowhere.
func (c control) args(options ...string) []string {
	out := []string{"-F", "/dev/null", "-S", c.path, "-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "ProxyCommand=exit 255"}
	return append(append(out, options...), "--", c.host)
}

// A master is a connection of the user's own ssh(1), over which commands run
// through its control socket.
type master struct {
	name    string
	control control
	since   time.Time
	work    workers
	once    sync.Once
	gone    chan struct{} // closed when this side gives it up
	why     error         // set before gone closes
}

func newMaster(name string, c control) *master {
	return &master{name: name, control: c, since: time.Now(), gone: make(chan struct{})}
}

func (m *master) alive() bool {
	select {
	case <-m.gone:
		return false
	default:
		return m.control.open()
	}
}

func (m *master) lived() time.Duration { return time.Since(m.since) }

// end gives the connection up; it is the user's, and stays open.
func (m *master) end(why error) {
	m.once.Do(func() {
		m.why = why
		close(m.gone)
	})
}

func (m *master) wait() { m.work.Wait() }

func (m *master) lost() *Error {
	return &Error{Class: Unreachable, Summary: "connection to " + m.name + " was lost", Detail: "the ssh that muster shared it with has ended", cause: m.why, broke: true}
}

// open starts a command. That it was refused shows when the stream ends.
func (m *master) open(ctx context.Context, command string) (Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !m.alive() {
		return nil, errGone
	}
	s := &shared{master: m}
	if err := s.start(exec.Command(m.control.program, append(m.control.args("-T"), command)...), "cannot start ssh"); err != nil {
		return nil, err
	}
	s.follow()
	return s, nil
}

// A shared stream is a command that ssh(1) runs over a control socket.
type shared struct {
	child
	master *master
	exit   Exit
	err    error // set before ended closes
}

// follow waits for the command, and ends it with its connection.
func (s *shared) follow() {
	s.master.work.Go(func() {
		s.exit, s.err = s.result(s.cmd.Wait())
		close(s.ended)
	})
	s.master.work.Go(func() {
		select {
		case <-s.master.gone:
			s.Close()
		case <-s.ended:
		}
	})
}

// result reads how ssh(1) ended: 255 is its own status, and also a possible one of a command.
func (s *shared) result(err error) (Exit, error) {
	exit := Exit{Code: s.cmd.ProcessState.ExitCode(), Stderr: s.stderr.String()}
	var code *exec.ExitError
	switch {
	case exit.Code == 255 && (!s.master.alive() || strings.Contains(exit.Stderr, "mux_client") || strings.Contains(exit.Stderr, "UNKNOWN port")), exit.Code < 0:
		return exit, s.master.lost()
	case err != nil && !errors.As(err, &code) && exit.Code != 0:
		return exit, s.master.lost()
	}
	return exit, nil
}

func (s *shared) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	if err == io.EOF {
		select {
		case <-s.ended: // the end of ssh says whose the end of its output is
		case <-time.After(time.Second):
		}
		if !s.master.alive() {
			err = s.master.lost()
		}
	}
	return n, err
}

func (s *shared) Write(p []byte) (int, error) {
	n, err := s.in.Write(p)
	if err != nil && !s.master.alive() {
		err = s.master.lost()
	}
	return n, err
}

func (s *shared) CloseWrite() error { return s.in.Close() }

// Close ends this side's ssh; the command loses its standard streams.
func (s *shared) Close() error {
	s.once.Do(func() {
		s.in.Close()
		select {
		case <-s.ended:
		default:
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		}
		s.out.Close()
	})
	return nil
}

func (s *shared) Stderr() string { return s.stderr.String() }

func (s *shared) Wait() (Exit, error) {
	<-s.ended
	return s.exit, s.err
}
