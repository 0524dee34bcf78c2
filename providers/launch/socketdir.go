package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/muster-run/muster/internal/kernel"
)

// longestBase is the longest folder under which our socket paths fit: a Unix
// socket's path has at most 107 bytes (unix(7)), and ours add up to 68.
const longestBase = 38

// runtimeDir is the folder for the sockets of this process's providers. Only
// the user can look inside, which is all the authentication there is.
var runtimeDir = struct {
	sync.Mutex
	path  string
	users map[*Launcher]bool // it stays until the last of them is closed
}{users: map[*Launcher]bool{}}

// socketDir returns that folder and makes it if needed, after removing those of dead muster
// processes.
func (l *Launcher) socketDir() (string, error) {
	runtimeDir.Lock()
	defer runtimeDir.Unlock()
	runtimeDir.users[l] = true
	if runtimeDir.path != "" {
		if _, err := os.Lstat(runtimeDir.path); err == nil {
			return runtimeDir.path, nil
		}
	}
	base, err := socketBase(lookup(l.opts.Environ, "XDG_RUNTIME_DIR"))
	if err != nil {
		return "", err
	}
	sweep(base)
	dir := filepath.Join(base, socketPrefix()+kernel.Identify(os.Getpid()).String())
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("make folder for provider sockets: %w", err)
	}
	runtimeDir.path = dir
	return dir, nil
}

func socketBase(xdg string) (string, error) {
	if xdg != "" {
		base := filepath.Join(xdg, "muster")
		if len(base) <= longestBase && private(base) == nil {
			return base, nil
		}
	}
	base := filepath.Join("/tmp", "muster-"+strconv.Itoa(os.Geteuid()))
	return base, private(base)
}

// private makes a folder, or checks that it is one, ours, and closed to all others. In /tmp,
// someone else may have made it first.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make folder for provider sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at folder for provider sockets: %w", err)
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it, or set XDG_RUNTIME_DIR to a folder of your own", dir)
	case owner == nil || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user; set XDG_RUNTIME_DIR to a folder of your own", dir)
	case info.Mode().Perm() != 0o700:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// socketPrefix names the pid namespace: containers may share /tmp, and a dead pid here may be
// alive there.
func socketPrefix() string {
	ns := kernel.Space() // "pid:[4026531836]"
	ns = strings.Trim(ns[strings.LastIndexByte(ns, '[')+1:], "[]")
	if n, err := strconv.ParseUint(ns, 10, 64); err == nil {
		return "p" + strconv.FormatUint(n, 36) + "-"
	}
	return "p-"
}

// sweep removes the folders of dead muster processes.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	prefix := socketPrefix()
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), prefix)
		id, ok := kernel.ParseID(name)
		if ours && ok && !id.Alive() {
			_ = os.RemoveAll(filepath.Join(base, e.Name()))
		}
	}
}

// leaveSocketDir removes the folder if this launcher was the last to use it.
func (l *Launcher) leaveSocketDir() {
	runtimeDir.Lock()
	defer runtimeDir.Unlock()
	delete(runtimeDir.users, l)
	if len(runtimeDir.users) == 0 && runtimeDir.path != "" && os.Remove(runtimeDir.path) == nil {
		runtimeDir.path = ""
	}
}
