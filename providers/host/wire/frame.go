// Package wire is the protocol between a queue and its clients: requests and
// answers on one connection, with both ends.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/muster-run/muster/providers"
)

// The protocol between queue and client: frames of a 4-byte big-endian length
// and one JSON message. Questions are numbered; answers may come in any order.
const (
	// Protocol is the version spoken; a queue also speaks the one before.
	Protocol = 1
	// ProtocolMin is the oldest version spoken.
	ProtocolMin = 1
	// Revision grows with every change of the queue's behaviour: a client
	// takes over a running queue of a smaller one.
	Revision = 4
	// maxFrame bounds a frame, in bytes.
	maxFrame = 64 << 20
)

// A message is a question (Op) or the answer to one.
type message struct {
	ID    uint64           `json:"id"`
	Op    string           `json:"op,omitempty"` // "cancel" ends question ID
	Body  json.RawMessage  `json:"body,omitempty"`
	Error *providers.Error `json:"error,omitempty"`
}

// frames reads and writes messages; writes may be concurrent.
type frames struct {
	r  *bufio.Reader
	mu sync.Mutex
	w  io.Writer
}

func newFrames(rw io.ReadWriter) *frames {
	return &frames{r: bufio.NewReaderSize(rw, 64<<10), w: rw}
}

func (f *frames) read() (message, error) {
	var m message
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return m, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return m, fmt.Errorf("frame of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(f.r, b); err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("frame: %w", err)
	}
	return m, nil
}

func (f *frames) write(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	if len(b) > maxFrame {
		return errors.New("frame is too large")
	}
	out := binary.BigEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	out = append(out, b...)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = f.w.Write(out)
	return err
}

// asError makes a provider's error of any.
func asError(err error) *providers.Error {
	var e *providers.Error
	if errors.As(err, &e) {
		return e
	}
	return &providers.Error{Class: providers.Internal, Summary: "The queue could not answer", Detail: err.Error()}
}
