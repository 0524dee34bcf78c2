package rental

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-run/muster/providers"
)

// lock takes a folder of records for this process; the system frees it with the
// process. busy says that another one has it.
func lock(dir string) (f *os.File, busy bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, err
	}
	f, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		_ = f.Truncate(0)
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid()) // for people
		return f, false, nil
	case syscall.EWOULDBLOCK:
		f.Close()
		return nil, true, nil
	default:
		f.Close()
		return nil, false, err
	}
}

// unlock frees a folder: also where a process that is being started here has the file
// for a moment, which would keep the lock after Close.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// busyError says that another muster leads the machines of a backend.
func busyError(backend, dir string) error {
	return &providers.Error{Class: providers.Unreachable, Summary: "Another muster process works with the machines of backend." + backend,
		Detail: "It holds " + filepath.Join(dir, "lock") + ".", Hint: "Wait until it ends."}
}
