package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper"
)

// copyLog writes what a log holds from an offset on, to its end or to where more
// may come. A job that said nothing has no log.
func copyLog(path string, at int64, w io.Writer, mask wrapper.Mask, end bool) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return mask.Copy(w, f, at, end)
}

// LastLinesFrom is where the last n lines of a file begin. It reads backwards
// and no more than it must.
func LastLinesFrom(path string, n int) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	const block = 64 << 10
	buf := make([]byte, block)
	for at := end; at > 0; {
		from := max(at-block, 0)
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
	return 0, nil
}

// WriteLog writes the log of an attempt from where the request says. While the
// attempt runs it follows what is added, if asked, and looks every pause. The secrets
// of the job are masked.
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
