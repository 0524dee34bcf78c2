package gpu

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock holds a device machine-wide, across users, by binding the abstract
// Unix socket @muster/gpu/UUID. The hold lasts until the last process that
// inherited the descriptor ends, whatever becomes of the one that took it.
// The descriptor is close-on-exec; exec.Cmd.ExtraFiles hands it to a job. It
// fails with ErrHeld when another holds it. unix(7), Abstract sockets.
func Lock(uuid string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("lock GPU %s: %w", uuid, err)
	}
	// One type for all: the kernel keeps a name once per socket type.
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@muster/gpu/" + uuid})
	if err == nil {
		return os.NewFile(uintptr(fd), "gpu "+uuid), nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("lock GPU %s: %w", uuid, ErrHeld)
	}
	return nil, fmt.Errorf("lock GPU %s: %w", uuid, err)
}
