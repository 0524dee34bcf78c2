package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// smallFile is up to which size, in bytes, a file is read into memory once
// for all its checks.
const smallFile = 256 << 10

// chunk is how much of a larger file is read at once, in bytes.
const chunk = 256 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// A file is one regular file, open while it is checked, or a folder of files.
type file struct {
	path    string // absolute
	workdir string
	folder  bool
	f       *os.File
	mark    Mark
	pool    *[]byte
	data    []byte // all of it, if it is small; nil otherwise
	sum     string // digest, once taken
}

var _ io.ReaderAt = (*file)(nil)

func join(workdir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(workdir, path)
}

// otherKind is the verdict on something else than declared: a folder, a pipe, a device.
type otherKind string

func (e otherKind) Error() string { return string(e) }

func isOtherKind(err error) bool { return errors.As(err, new(otherKind)) }

// open never blocks: it refuses anything but a regular file, a pipe included.
func open(path string) (*file, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fault(err)
	}
	v := &file{path: path, f: f, mark: markOf(info)}
	if v.mark.Size <= smallFile {
		if err := v.load(); err != nil {
			v.close()
			return nil, fault(err)
		}
	}
	return v, nil
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, absent(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, fault(err)
	}
	return f, nil
}

// regular refuses anything but a file, and names its kind.
func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return otherKind("a folder is there, not a file; declare it with dir")
	}
	what := special(info.Mode())
	if to, err := os.Readlink(path); err == nil {
		return otherKind(fmt.Sprintf("a link to %s (%s) is there, not a file", what, to))
	}
	return otherKind(what + " is there, not a file")
}

// special names the kind of something that is neither file nor folder.
func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something"
}

func (f *file) load() error {
	f.pool = chunks.Get().(*[]byte)
	n, err := io.ReadFull(f.f, (*f.pool)[:f.mark.Size])
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return err
	}
	f.data = (*f.pool)[:n]
	if int64(n) < f.mark.Size {
		return errChanged
	}
	return nil
}

func (f *file) close() {
	f.f.Close()
	if f.pool != nil {
		chunks.Put(f.pool)
	}
}

// ReadAt reads from memory or from the file.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if f.data == nil {
		return f.f.ReadAt(p, off)
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// reader reads the file from its start, and ends with ctx.
func (f *file) reader(ctx context.Context) io.Reader {
	return &ctxReader{ctx, io.NewSectionReader(f, 0, f.mark.Size)}
}

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := count(r.ctx, 0); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if over := count(r.ctx, n); over != nil {
		return n, over
	}
	return n, err
}

// digest is "sha256:…" of the bytes.
func (f *file) digest(ctx context.Context) (string, error) {
	if f.sum != "" {
		return f.sum, nil
	}
	if err := fits(ctx, filepath.Base(f.path), f.mark.Size); err != nil {
		return "", err
	}
	var sum [sha256.Size]byte
	if f.data != nil {
		sum = sha256.Sum256(f.data)
	} else {
		h := sha256.New()
		buf := chunks.Get().(*[]byte)
		defer chunks.Put(buf)
		// Hide WriterTo and ReaderFrom, so that the buffer is used.
		n, err := io.CopyBuffer(struct{ io.Writer }{h}, f.reader(ctx), *buf)
		if err != nil {
			return "", fault(err)
		}
		if n < f.mark.Size {
			return "", errChanged
		}
		h.Sum(sum[:0])
	}
	f.sum = digestText(sum[:])
	return f.sum, nil
}

func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

var errChanged = errors.New("it changed while it was checked: something still writes it")

// unchanged checks that the path still has the opened file.
func (f *file) unchanged() error {
	info, err := f.f.Stat()
	if err != nil {
		return fault(err)
	}
	if m := markOf(info); m.Size != f.mark.Size || m.MTime != f.mark.MTime {
		return errChanged
	}
	return nil
}

// fault says in words why a file could not be read, without its path.
func fault(err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case errors.Is(err, syscall.ENOTDIR):
		return errors.New("missing: a file is where its folder should be")
	case errors.Is(err, syscall.ELOOP):
		return errors.New("a link is there that leads back to itself")
	case errors.As(err, &pe):
		return fmt.Errorf("cannot be read: %w", pe.Err)
	}
	return err
}

var errMissing = errors.New("missing: there is no such file")

// absent says why there is no file at path: err comes from a look through links.
func absent(path string, err error) error {
	info, bad := os.Lstat(path)
	if bad != nil {
		return fault(err)
	}
	if errors.Is(err, fs.ErrNotExist) && info.Mode()&fs.ModeSymlink != 0 {
		to, _ := os.Readlink(path)
		return fmt.Errorf("a link is there whose target is missing: %s", to)
	}
	if m := info.Mode(); !m.IsRegular() && !m.IsDir() && m&fs.ModeSymlink == 0 { // a socket cannot be opened
		return regular(path, info)
	}
	return fault(err)
}
