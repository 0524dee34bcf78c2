package file

import (
	"io"
	"io/fs"
	"os"
)

// fsys is what the store asks of a file system; tests put one in its place
// that fails.
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

// disk is the real file system.
type disk struct{}

var _ fsys = disk{}

func (disk) OpenFile(name string, flag int, perm fs.FileMode) (handle, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
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
