package door

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/protocol"
)

// mostNoise bounds what a login shell may print before the door's first line, in bytes.
const mostNoise = 1 << 20

// A NoDoor is what came over a stream on which no door spoke.
type NoDoor struct {
	Last []string // its last lines, cleaned for people
	Err  error
}

func (e *NoDoor) Error() string {
	if len(e.Last) == 0 {
		return fmt.Sprintf("nothing was said: %v", e.Err)
	}
	return fmt.Sprintf("%v; it said: %s", e.Err, strings.Join(e.Last, " / "))
}

func (e *NoDoor) Unwrap() error { return e.Err }

// Connect waits for a door's first line on a stream and speaks to it from
// there on. It closes the stream if there is none before ctx ends.
func Connect(ctx context.Context, s io.ReadWriteCloser) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { s.Close() })
	r := bufio.NewReaderSize(s, 64<<10)
	clock, place, last, err := skipNoise(r)
	ahead := aheadOf(clock, time.Now())
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, &NoDoor{Last: last, Err: err}
	}
	c, err := protocol.DialStream(&buffered{ReadWriteCloser: s, r: r})
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Client{StreamClient: c, Ahead: ahead, Place: place}, nil
}

// skipNoise reads up to the door's first line, which says what its clock shows
// and where it is.
func skipNoise(r *bufio.Reader) (clock time.Time, place string, last []string, err error) {
	for n := 0; n < mostNoise; {
		line, err := r.ReadSlice('\n')
		n += len(line)
		text := strings.TrimRight(string(line), "\r\n")
		if clock, place, ok := readFirstLine(text); ok {
			return clock, place, nil, nil
		}
		if text = term.CleanLine(strings.TrimSpace(text)); text != "" {
			last = append(last, text)
			last = last[max(0, len(last)-3):]
		}
		if err != nil && err != bufio.ErrBufferFull {
			return clock, "", last, err
		}
	}
	return clock, "", last, fmt.Errorf("more than %d bytes came before the first line of muster's own", mostNoise)
}

// buffered is a stream of which some has been read ahead.
type buffered struct {
	io.ReadWriteCloser
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }
