package staging

import (
	"context"
	"errors"
	"io"
)

// errLonger says that a file has more bytes than its backend said.
var errLonger = wrong("it is longer than was recorded")

// pulled reads a file of a backend as it is pulled. Seeking starts a new pull at the offset,
// which is how a push resumes after existing bytes.
type pulled struct {
	ctx  context.Context
	from Side
	path string
	size int64
	at   int64
	pipe *io.PipeReader
	far  *Progress
	// failed is the error of a pull.
	failed error
}

var _ io.ReadSeeker = (*pulled)(nil)

func (r *pulled) Read(buf []byte) (int, error) {
	if r.at >= r.size && r.size >= 0 {
		return 0, io.EOF
	}
	if r.pipe == nil {
		pr, pw := io.Pipe()
		r.pipe = pr
		at := r.at
		go func() { pw.CloseWithError(r.from.Files.Pull(r.ctx, r.from.Backend, r.path, at, pw)) }()
	}
	n, err := r.pipe.Read(buf)
	if r.size >= 0 && r.at+int64(n) > r.size {
		n, err = int(r.size-r.at), errLonger
	}
	r.far.count(r.path, r.at, n, r.size)
	r.at += int64(n)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrClosedPipe) {
		r.failed = err
	}
	return n, err
}

// Origin is the backend that the bytes come from, for an end that need not read
// them: a simulated one has none.
func (r *pulled) Origin() string { return r.from.Backend }

// Seek moves to an offset; the size is the one that was recorded.
func (r *pulled) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.at, errors.New("seek before the beginning")
	}
	r.far.sought(r.path)
	if offset != r.at {
		r.close()
		r.at = offset
	}
	return r.at, nil
}

func (r *pulled) close() {
	if r.pipe != nil {
		r.pipe.Close()
		r.pipe = nil
	}
}
