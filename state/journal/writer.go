package journal

import (
	"bytes"
	"fmt"
	"time"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
)

// A File is the file of a journal: an *os.File, or a test's substitute.
type File interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// A Writer appends events to a journal. Append only queues; Sync writes and
// syncs everything queued with one fsync, so that a thousand events cost
// little more than one. It is for one goroutine.
type Writer struct {
	f     File
	fence uint64
	seq   uint64 // of the last event queued
	acked uint64 // of the last event durable
	size  int64  // bytes durable
	buf   []byte // queued
	err   error  // the first failure; nothing is written after it
}

// NewWriter goes on with a journal that is durable up to size bytes and has
// events up to seq. The file is at its end.
func NewWriter(f File, fence, seq uint64, size int64) *Writer {
	return &Writer{f: f, fence: fence, seq: seq, acked: seq, size: size}
}

// Append queues an event and gives it as it will be read back: text that is
// not UTF-8 does not survive JSON. An event that cannot be encoded is refused
// and queues nothing.
func (w *Writer) Append(at time.Time, e state.Event) (state.Event, error) {
	if w.err != nil {
		return nil, w.err
	}
	start := len(w.buf)
	b, err := appendLine(w.buf, w.fence, w.seq+1, at, e)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(b[start:], replaced) {
		if line, why := ParseLine(string(b[start : len(b)-1])); why == "" {
			if e, err = line.Decode(new(codec.Decoder)); err != nil {
				return nil, err
			}
		}
	}
	w.buf = b
	w.seq++
	return e, nil
}

// replaced is encoding/json's text for a byte that is not UTF-8.
var replaced = []byte(`\ufffd`)

// Sync makes everything queued durable. After an error nothing more is written, since the
// file's content after a failed fsync is unknown: the file is cut back to its acknowledged
// part, as far as the system still lets us, and every later call gives the same error.
func (w *Writer) Sync() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	n, err := w.f.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = fmt.Errorf("short write: %d of %d bytes", n, len(w.buf))
	}
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		w.err = err
		_ = w.f.Truncate(w.size) // a cut-off line is dropped by who reads it, too
		return err
	}
	w.size += int64(n)
	w.acked = w.seq
	if cap(w.buf) > 1<<20 { // a large batch was the exception
		w.buf = nil
	}
	w.buf = w.buf[:0]
	return nil
}

// Seq is the number of the last event queued, Acked that of the last durable.
func (w *Writer) Seq() uint64   { return w.seq }
func (w *Writer) Acked() uint64 { return w.acked }

// Size is how many bytes are durable.
func (w *Writer) Size() int64 { return w.size }

// Close closes the file. Queued lines that were not synced are lost.
func (w *Writer) Close() error { return w.f.Close() }
