package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
)

// A Site is what preflight looks at.
type Site struct {
	Place      Place
	Environ    []providers.EnvVar
	Devices    []gpu.Device
	DevicesErr error
}

// Bounds of preflight.
const (
	setupTimeout = 2 * time.Minute
	inodesFull   = 0.99 // a file system with this share of its inodes in use is full
)

// Preflight checks that jobs could run here. It creates nothing.
func Preflight(ctx context.Context, s Site, checks []providers.Check) []providers.Finding {
	var out []providers.Finding
	tell := func(check int, warning bool, summary, format string, args ...any) {
		out = append(out, providers.Finding{Check: check, Warning: warning, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	spool, err := Spool()
	if err == nil {
		if why := unusable(spool); why != "" {
			tell(-1, false, "The queue's spool cannot be used", "%s. Mend that, or name another directory on a local disk in %s", why, EnvSpool)
		} else if why := room(spool, 0); why != "" {
			tell(-1, false, "The queue's spool has no room", "%s: %s; make room, or set XDG_STATE_HOME to another local disk", spool, why)
		}
	}
	setups := map[string]string{}
	for i, c := range checks {
		workdir := c.Workdir
		if workdir == "" {
			workdir = s.Place.Workdir
		}
		if why := writable(workdir); why != "" {
			tell(i, false, "Workdir cannot be used", "%s", why)
			continue
		}
		if why := room(workdir, c.Disk); why != "" {
			tell(i, false, "There is no room for results", "%s: %s", workdir, why)
		}
		for _, r := range c.Require {
			if err := required(&providers.Job{Workdir: workdir, Require: []providers.Require{r}}); err != nil {
				tell(i, false, "A required file is not there", "%v", err)
			}
		}
		if c.Shape.GPUs > 0 {
			s.gpus(i, c, tell)
		}
		key := fmt.Sprint(c.Setup, c.Env)
		if _, done := setups[key]; !done && len(c.Setup) > 0 {
			setups[key] = s.setup(ctx, workdir, c)
			if why := setups[key]; why != "" {
				tell(i, false, "Setup does not work", "%s", why)
			}
		}
	}
	if why := killedAtLogout(); why != "" {
		tell(-1, true, "Jobs may end at logout", "%s", why)
	}
	return out
}

// writable says why a folder could not be written to, "" if it could: it is
// there, or its nearest parent would take it.
func writable(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		switch {
		case err == nil && !fi.IsDir():
			return at + " is not a directory"
		case err == nil:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return fmt.Sprintf("%s cannot be written to: %v", at, err)
			}
			return ""
		case !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at):
			return err.Error()
		}
	}
}

// unusable says why a spool could not be used, "" if it could.
func unusable(spool string) string {
	if why := writable(spool); why != "" {
		return why
	}
	if _, err := os.Lstat(spool); err == nil {
		if err := privateDir(spool); err != nil {
			return err.Error()
		}
	}
	return ""
}

// room says why a file system is too full, "" if it is not.
func room(dir string, need int64) string {
	var st unix.Statfs_t
	for at := dir; unix.Statfs(at, &st) != nil; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return ""
		}
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	switch {
	case need > 0 && free < need:
		return fmt.Sprintf("%s free of %s needed", size(free), size(need))
	case st.Blocks > 0 && st.Bavail == 0:
		return "the disk is full"
	case st.Files > 0 && float64(st.Files-st.Ffree) >= inodesFull*float64(st.Files):
		return fmt.Sprintf("%d of %d inodes are in use; no more files can be made", st.Files-st.Ffree, st.Files)
	}
	return ""
}

func (s Site) gpus(i int, c providers.Check, tell func(int, bool, string, string, ...any)) {
	if s.DevicesErr != nil {
		tell(i, false, "The GPUs cannot be read", "%v", s.DevicesErr)
		return
	}
	pl := place{Place: s.Place}
	good := 0
	for _, d := range s.Devices {
		switch {
		case !pl.mayUse(d) || suits(d, c.Shape.GPU) != "":
		case !d.Healthy:
			tell(i, true, "A GPU is not healthy", "GPU %s: %s; it will not be used", deviceName(d), d.Reason)
		default:
			good++
		}
	}
	if good < c.Shape.GPUs {
		tell(i, false, "There are not enough healthy GPUs", "%d of %d that are needed", good, c.Shape.GPUs)
	}
}

// setup tries the setup in a shell of its own; it is the user's word that it
// may run at any time.
func (s Site) setup(ctx context.Context, workdir string, c providers.Check) string {
	ctx, stop := context.WithTimeout(ctx, setupTimeout)
	defer stop()
	var script strings.Builder
	for _, line := range c.Setup {
		script.WriteString(line + "\n_muster=$?; [ $_muster -eq 0 ] || exit $_muster\n")
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	for _, v := range append(append([]providers.EnvVar{}, s.Environ...), c.Env...) {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Dir = workdir
	if _, err := os.Stat(workdir); err != nil {
		cmd.Dir = "/"
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Sprintf("it did not end within %v", setupTimeout)
		}
		return fmt.Sprintf("%v: %s", err, strings.Join(lastLines(said.Bytes(), 5), " / "))
	}
	return ""
}

// killedAtLogout says why nothing of this user lives on after logout here, ""
// if it does. logind.conf(5), KillUserProcesses.
func killedAtLogout() string {
	if !logindEndsUs() {
		return ""
	}
	if _, err := os.Stat("/var/lib/systemd/linger/" + os.Getenv("USER")); err == nil {
		return ""
	}
	return "logind ends the processes of a user who logs out (KillUserProcesses=yes); run: loginctl enable-linger"
}

// logindEndsUs reports whether logind ends what a session has started.
func logindEndsUs() bool {
	if os.Getuid() == 0 || os.Getenv("XDG_SESSION_ID") == "" && os.Getenv("XDG_RUNTIME_DIR") == "" {
		return false
	}
	b, err := os.ReadFile("/etc/systemd/logind.conf")
	return err == nil && logindKills(string(b))
}

func logindKills(conf string) bool {
	for line := range strings.Lines(conf) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "KillUserProcesses="); ok {
			return v == "yes" || v == "true" || v == "1" || v == "on"
		}
	}
	return false
}
