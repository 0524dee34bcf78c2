package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/ulimit"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/spool"
)

// startWait bounds the start of a queue: it reads its log first.
const startWait = 30 * time.Second

// kept are the variables a queue starts with; jobs bring their own.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"LD_LIBRARY_PATH", "DBUS_SESSION_BUS_ADDRESS", envIdle} // the bus is for systemd-run

// start runs a queue detached: its own session, no terminal, nothing
// inherited. It returns when the queue listens, or another one does.
func (c *Client) start(ctx context.Context, dir string) error {
	if err := spool.Private(dir); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	argv, err := c.command(dir)
	if err != nil {
		return err
	}
	if sd, err := exec.LookPath("systemd-run"); err == nil && machine.EndsAtLogout() {
		// A scope of the user's manager outlives the session, and is ours to
		// make groups in. systemd-run(1)
		scope := append([]string{sd, "--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"}, argv...)
		if c.launch(ctx, dir, scope) == nil {
			return nil
		}
	}
	return c.launch(ctx, dir, argv)
}

// launch starts a command that becomes the queue.
func (c *Client) launch(ctx context.Context, dir string, argv []string) error {
	log, err := os.OpenFile(filepath.Join(dir, "queue.err"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", c.environ(), log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	go cmd.Wait() // it outlives us, or is reaped
	err = c.awaitReady(ctx, r)
	if errors.Is(err, errEnded) {
		return fmt.Errorf("%w%s", err, ulimit.LastWord(io.NewSectionReader(log, before, math.MaxInt64-before)))
	}
	return err
}

var errEnded = errors.New("the queue ended as it started")

// awaitReady waits until the queue says that it is ready.
func (c *Client) awaitReady(ctx context.Context, r *os.File) error {
	word := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
		word <- strings.TrimSpace(line)
	}()
	select {
	case w := <-word:
		switch w {
		case "ready", "busy":
			return nil
		case "":
			return errEnded
		}
		return errors.New(w)
	case <-time.After(startWait):
		return errors.New("the queue does not become ready; its messages are in " + c.logFile())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) command(dir string) ([]string, error) {
	argv := c.Command
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("start queue: %w", err)
		}
		argv = []string{self, "provider", "queue"}
	}
	argv = append(argv[:len(argv):len(argv)], "-spool", dir, "-ready")
	if c.Idle > 0 {
		argv = append(argv, "-idle", c.Idle.String())
	}
	if c.Revision != 0 {
		argv = append(argv, "-revision", strconv.Itoa(c.Revision))
	}
	return argv, nil
}

func (c *Client) environ() []string {
	var env []string
	for _, name := range kept {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, c.Env...)
}

func (c *Client) logFile() string {
	dir, err := c.dir()
	if err != nil {
		return "its spool"
	}
	return filepath.Join(dir, "queue.err")
}
