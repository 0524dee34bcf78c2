package file

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// fsys is the store's interface to a file system; tests substitute one that
// fails.
type fsys interface {
	OpenFile(name string, flag int, perm fs.FileMode) (handle, error)
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	MkdirAll(name string, perm fs.FileMode) error
	Link(from, to string) error
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(name string) error
}

type handle interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// disk is the real file system, with the files of one state.
type disk struct {
	snapshot string // its path; "" = not known yet
}

var _ fsys = disk{}

func (d disk) OpenFile(name string, flag int, perm fs.FileMode) (handle, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 && os.Geteuid() == 0 {
		d.own(f)
	}
	return f, nil
}

// own gives a file that root has just made to the owner of the state, or of its folder where there
// is none yet: a state belongs to its user, also after `sudo muster apply`. Where that fails, as
// over NFS without root, the file is root's, and the next command of the user says so. A file
// behind a link, or one that was there, may be anybody's and is left alone.
func (d disk) own(f *os.File) {
	made, err := f.Stat()
	at, missing := os.Lstat(f.Name())
	if err != nil || missing != nil || made.Size() > 0 || !os.SameFile(made, at) {
		return
	}
	info, err := os.Stat(d.snapshot)
	if err != nil {
		info, err = os.Stat(filepath.Dir(d.snapshot))
	}
	if err != nil {
		return
	}
	now, ok := made.Sys().(*syscall.Stat_t)
	of, known := info.Sys().(*syscall.Stat_t)
	if ok && known && now.Uid == 0 && now.Nlink == 1 && of.Uid != 0 {
		_ = f.Chown(int(of.Uid), int(of.Gid))
	}
}

func (disk) ReadFile(name string) ([]byte, error)         { return os.ReadFile(name) }
func (disk) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (disk) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (disk) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (disk) Link(from, to string) error                   { return os.Link(from, to) }
func (disk) Rename(from, to string) error                 { return os.Rename(from, to) }
func (disk) Remove(name string) error                     { return os.Remove(name) }

// SyncDir makes renames in a directory durable.
func (disk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
