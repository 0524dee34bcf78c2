package agent

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

const (
	// mostNoise bounds the output of a login shell before the agent's first line, in bytes.
	mostNoise = 1 << 20
	// lineWidth is how much of a line of noise is kept, in columns.
	lineWidth = 200
)

// ErrNoise says that a login shell printed more than mostNoise.
var ErrNoise = fmt.Errorf("its login shell printed more than %d KiB before muster's program could answer", mostNoise>>10)

// A NoAgent is the output of a stream without an agent.
type NoAgent struct {
	Last []string // its last lines, cleaned for people
	Err  error
}

func (e *NoAgent) Error() string {
	if len(e.Last) == 0 {
		return fmt.Sprintf("no output: %v", e.Err)
	}
	return fmt.Sprintf("%v; it said: %s", e.Err, strings.Join(e.Last, " / "))
}

func (e *NoAgent) Unwrap() error { return e.Err }

// Connect waits for an agent's first line on a stream and speaks to it from
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
		return nil, &NoAgent{Last: last, Err: err}
	}
	c, err := protocol.DialStream(&buffered{ReadWriteCloser: s, r: r})
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Client{StreamClient: c, Ahead: ahead, Account: place}, nil
}

// skipNoise reads up to the agent's first line, which has the time on its clock and its
// account.
func skipNoise(r *bufio.Reader) (clock time.Time, place string, last []string, err error) {
	for n := 0; n < mostNoise; {
		line, err := r.ReadSlice('\n')
		n += len(line)
		text := strings.TrimRight(string(line), "\r\n")
		if clock, place, ok := readFirstLine(text); ok {
			return clock, place, nil, nil
		}
		if text = term.CleanLine(strings.TrimSpace(text)); text != "" {
			last = append(last, term.Fit(text, lineWidth))
			last = last[max(0, len(last)-3):]
		}
		if err != nil && err != bufio.ErrBufferFull {
			return clock, "", last, err
		}
	}
	return clock, "", last, ErrNoise
}

// buffered is a stream with the part that was read ahead.
type buffered struct {
	io.ReadWriteCloser
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }
