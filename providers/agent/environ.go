package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/providers"
)

// loginTimeout bounds a login shell: its files may wait for a terminal.
const loginTimeout = 10 * time.Second

// EnvironMode is the mode in which a login shell starts this binary, to print the environment.
const EnvironMode = "environ"

// selfVar names the binary to the login shell, whichever shell that is.
const selfVar = "MUSTER_HOST_BINARY"

// loginEnviron is the environment of the user's login shell, without the variables of a
// session. If the shell fails, it is this process's own, and the note says so.
func loginEnviron(self string) (environ []providers.EnvVar, note string) {
	shell := os.Getenv("SHELL")
	if !filepath.IsAbs(shell) {
		shell = "/bin/sh"
	}
	lines, err := login(shell, self, loginTimeout)
	if err != nil {
		lines = os.Environ()
		note = fmt.Sprintf("jobs do not start from a login shell's environment: %s %v; put the settings they need into the backend's setup", shell, err)
	}
	return ofJobs(lines), note
}

// login runs the shell as login(1) does, with a "-" before its name, which
// every shell understands, and has it start this binary.
func login(shell, self string, limit time.Duration) ([]string, error) {
	mark := rand.Text()
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, shell, "-c", `exec "$`+selfVar+`" `+EnvironMode+" "+mark)
	cmd.Args[0] = "-" + filepath.Base(shell)
	cmd.Env = append(os.Environ(), selfVar+"="+self)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal to ask on
	if home, err := os.UserHomeDir(); err == nil {
		cmd.Dir = home
	}
	var said bounded
	cmd.Stdout = &said
	err := subprocess.Run(cmd) // its startup files may start others
	if lines, ok := between(said.Bytes(), mark); ok {
		return lines, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("did not end within %v", limit)
	case err != nil:
		return nil, fmt.Errorf("ended with %w", err)
	}
	return nil, fmt.Errorf("did not run the command")
}

// printEnviron prints the environment of this process between two marks.
func printEnviron(w io.Writer, mark string) error {
	_, err := io.WriteString(w, "\x00"+mark+"\x00"+strings.Join(os.Environ(), "\x00")+"\x00"+mark+"\x00")
	return err
}

// between finds the output of printEnviron within a shell's output.
func between(said []byte, mark string) ([]string, bool) {
	sep := []byte("\x00" + mark + "\x00")
	_, rest, ok := bytes.Cut(said, sep)
	if !ok {
		return nil, false
	}
	body, _, ok := bytes.Cut(rest, sep)
	return strings.Split(string(body), "\x00"), ok
}

// bounded keeps the end of a shell's output: a chatty shell prints other text before it.
type bounded struct{ bytes.Buffer }

const mostSaid = 4 << 20 // bytes

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostSaid {
		b.Next(b.Len() / 2)
	}
	return b.Buffer.Write(p)
}

// ofJobs drops the variables of a session, and muster's own, by name; it sorts the rest, so
// that the same login gives the same environment.
func ofJobs(lines []string) []providers.EnvVar {
	var out []providers.EnvVar
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if ok && name != "" && !ofSession(name) {
			out = append(out, providers.EnvVar{Name: name, Value: value})
		}
	}
	slices.SortFunc(out, func(a, b providers.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func ofSession(name string) bool {
	switch name {
	case "_", "PWD", "OLDPWD", "SHLVL", "TERM", "DISPLAY", "WINDOWID", "STY", "TMUX", "TMUX_PANE", "COLUMNS", "LINES", "LS_COLORS", "PS1", "MAIL",
		"XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
		"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES": // which GPU a job has is the queue's to say
		return true
	}
	return strings.HasPrefix(name, "SSH_") || strings.HasPrefix(name, "MUSTER_")
}
