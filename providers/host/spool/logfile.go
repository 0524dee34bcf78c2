package spool

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
)

// Logs hands out log files and takes back those in which nothing was
// said, for the next job: making and removing files costs more than all else
// in a short job's life. The zero value works.
type Logs struct {
	mu    sync.Mutex
	spare map[string][]spareLog // by the folder of all logs of a workdir
}

// spareLog is an empty log that no job has open.
type spareLog struct {
	path string
	f    *os.File
}

// maxSpareLogs bounds the empty logs kept for a workdir. It must be several times the number
// returned at a time: each removed log makes new ones slow, because ext4 without a journal
// searches every inode of a group that was freed in the last seconds.
const maxSpareLogs = 256

// Open makes the log at path, or keeps the log of an earlier start of the attempt.
func (l *Logs) Open(path string) (*os.File, error) {
	dir := filepath.Dir(filepath.Dir(path))
	l.mu.Lock()
	var s spareLog
	if n := len(l.spare[dir]); n > 0 {
		s = l.spare[dir][n-1]
		l.spare[dir] = l.spare[dir][:n-1]
	}
	l.mu.Unlock()
	if s.f != nil {
		// Not over a log that is there already.
		err := kernel.Rename(s.path, path)
		if errors.Is(err, unix.ENOENT) && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
			err = kernel.Rename(s.path, path)
		}
		if err == nil {
			return s.f, nil
		}
		s.f.Close()
		os.Remove(s.path)
	}
	return createLog(path)
}

func createLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return f, err
}

// Done looks at the log of an attempt that has ended: one with text stays.
func (l *Logs) Done(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	if fi, err := f.Stat(); err != nil || fi.Size() > 0 {
		f.Close()
		return
	}
	dir := filepath.Dir(filepath.Dir(path))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare[dir]) >= maxSpareLogs || !kernel.Alone(f) {
		f.Close()
		os.Remove(path)
		return
	}
	if l.spare == nil {
		l.spare = map[string][]spareLog{}
	}
	l.spare[dir] = append(l.spare[dir], spareLog{path: path, f: f})
}

// Clear removes the empty logs.
func (l *Logs) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.spare {
		for _, s := range list {
			s.f.Close()
			os.Remove(s.path)
		}
	}
	l.spare = nil
}
