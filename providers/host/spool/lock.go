package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
)

// ErrBusy says that another queue holds the spool.
var ErrBusy = errors.New("another queue runs here")

// Lock takes the spool for this process. The kernel lets go of the lock
// when the process ends, however it ends. A job never inherits it.
func Lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock spool: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock spool: %w", err)
	}
	if !isAt(f, lockPath(dir)) { // removed by its last holder meanwhile
		f.Close()
		return nil, ErrBusy
	}
	start, _ := process.StartTime(os.Getpid())
	f.Truncate(0)
	f.WriteAt([]byte(strconv.Itoa(os.Getpid())+" "+strconv.FormatUint(start, 10)+" "+monotonic.ID()+"\n"), 0)
	return f, nil
}

// Holder is the process that took the spool last; the zero ID if none did in
// this boot.
func Holder(dir string) process.ID {
	text, err := os.ReadFile(lockPath(dir))
	f := strings.Fields(string(text))
	if err != nil || len(f) < 3 || f[2] != monotonic.ID() {
		return process.ID{}
	}
	pid, _ := strconv.Atoi(f[0])
	start, _ := strconv.ParseUint(f[1], 10, 64)
	return process.ID{PID: pid, Start: start}
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Remove deletes a spool for the process that holds its lock, the lock last, and muster's
// folders above it if they are empty. It leaves the files of others.
func Remove(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "lock" && ours(e.Name()) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove spool: %w", err)
			}
		}
	}
	if err := os.Remove(lockPath(dir)); err != nil {
		return fmt.Errorf("remove spool: %w", err)
	}
	if sock, err := Socket(dir); err == nil && filepath.Dir(sock) != dir {
		_ = os.Remove(filepath.Dir(sock))
	}
	if os.Remove(dir) != nil {
		return nil // the folder has other files
	}
	for up := filepath.Dir(dir); filepath.Base(up) == "queue" || strings.HasPrefix(filepath.Base(up), "muster"); up = filepath.Dir(up) {
		if os.Remove(up) != nil {
			break
		}
	}
	return nil
}

// ours reports whether a queue makes files of that name in its spool.
func ours(name string) bool {
	switch name {
	case "log", "jobs", "secrets", "claims", "sock", "queue.err", identityFile, identityFile + ".new":
		return true
	}
	return strings.HasPrefix(name, "log.") || strings.HasPrefix(name, "wrapper-")
}
