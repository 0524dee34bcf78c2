package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper"
)

// copyLog writes a log from an offset to its end, or to where a line may still grow. A job
// without output has no log.
func copyLog(path string, at int64, w io.Writer, mask wrapper.Mask, end bool) (int64, error) {
	f, err := openLog(path)
	if f == nil {
		return 0, err
	}
	defer f.Close()
	g, ok := gapIn(f, at)
	if !ok {
		return mask.Copy(w, f, at, end)
	}
	if _, err = mask.Copy(w, io.NewSectionReader(f, 0, g.from), at, true); err == nil {
		err = g.say(w)
	}
	if err != nil {
		return 0, err
	}
	n, err := mask.Copy(w, f, g.to, end)
	return g.to - at + n, err
}

// openLog opens a log; nil without an error = the job has written none. A link in its place,
// which muster never makes, may lead to any file of this user.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("%s is a link, not a log", path)
	}
	return f, err
}

// LastLinesFrom is the offset of the last n lines of a file. It reads backwards, and no more
// than it must.
func LastLinesFrom(path string, n int) (int64, error) {
	f, err := openLog(path)
	if f == nil {
		return 0, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	var least int64
	if g, ok := gapIn(f, 0); ok {
		least = g.to
	}
	const block = 64 << 10
	buf := make([]byte, block)
	for at := end; at > least; {
		from := max(at-block, least)
		part := buf[:at-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if at == end { // the newline that ends the last line begins no other
			part = bytes.TrimSuffix(part, []byte("\n"))
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if n--; n == 0 {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return least, nil
}

// WriteLog writes the log of an attempt from the request's offset. While the attempt runs it
// follows the log, if asked, and looks every pause. It masks the secrets of the job.
func WriteLog(ctx context.Context, path string, r providers.LogRequest, w io.Writer, mask wrapper.Mask, pause time.Duration, running bool, runs func() (bool, error)) error {
	at := r.Offset
	if r.Lines > 0 {
		var err error
		if at, err = LastLinesFrom(path, r.Lines); err != nil {
			return err
		}
	}
	for {
		n, err := copyLog(path, at, w, mask, !r.Follow || !running)
		if err != nil {
			return fmt.Errorf("log of %s: %w", r.Token, err)
		}
		at += n
		if !r.Follow || !running {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if n == 0 {
			if running, err = runs(); err != nil {
				return err
			}
		}
	}
}
