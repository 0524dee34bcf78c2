package gpu

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// lockBacklog is how many may ask who holds a lock: the holder accepts no connection. The
// kernel lowers it to net.core.somaxconn.
const lockBacklog = 4096

func lockName(uuid string) *unix.SockaddrUnix { return &unix.SockaddrUnix{Name: "@muster/gpu/" + uuid} }

// Lock holds a device machine-wide, across users, by binding the abstract Unix socket
// @muster/gpu/UUID. The lock lasts until the last process that inherited the descriptor ends.
// The descriptor is close-on-exec; exec.Cmd.ExtraFiles gives it to a job. Lock fails with
// ErrHeld when another process has the lock. unix(7), Abstract sockets.
func Lock(uuid string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("lock GPU %s: %w", uuid, err)
	}
	// One type for all: the kernel keeps a name once per socket type.
	err = unix.Bind(fd, lockName(uuid))
	if err == nil {
		_ = unix.Listen(fd, lockBacklog) // Holder reads it in other processes; the lock does not need it
		return os.NewFile(uintptr(fd), "gpu "+uuid), nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("lock GPU %s: %w", uuid, ErrHeld)
	}
	return nil, fmt.Errorf("lock GPU %s: %w", uuid, err)
}

// Holder names the holder of a device's lock: user and pid of the queue, as the kernel noted
// them at the bind; "" where it does not. unix(7), SO_PEERCRED. Each call uses up one of
// lockBacklog, so ask rarely.
func Holder(uuid string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if unix.Connect(fd, lockName(uuid)) != nil { // an older muster's does not listen
		return ""
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return ""
	}
	uid := strconv.FormatUint(uint64(cred.Uid), 10)
	who := "uid " + uid
	if u, err := user.LookupId(uid); err == nil {
		who = "user " + u.Username
	}
	now, seen := uidOf("/proc/" + strconv.Itoa(int(cred.Pid)))
	switch {
	case cred.Pid <= 0: // of another pid namespace
		return who
	case unix.Kill(int(cred.Pid), 0) == unix.ESRCH, seen && now != uid: // or the pid is another's by now
		return who + ", by a job whose queue has ended"
	}
	return fmt.Sprintf("%s, pid %d", who, cred.Pid)
}
