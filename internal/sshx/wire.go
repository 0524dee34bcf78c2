package sshx

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A wire is the byte stream below an ssh connection. It knows when something last came in, and
// it reports its end before the protocol above it does, so that a reader whose channel ends
// can ask whether the link broke.
type wire struct {
	net.Conn
	heard atomic.Int64 // Unix nanoseconds by the monotonic clock of start
	start time.Time
	once  sync.Once
	gone  chan struct{}
	err   error // set before gone closes
}

func newWire(c net.Conn) *wire {
	return &wire{Conn: c, start: time.Now(), gone: make(chan struct{})}
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(int64(time.Since(w.start)))
	}
	if err != nil {
		w.end(err)
	}
	return n, err
}

func (w *wire) Close() error {
	w.end(net.ErrClosed)
	return w.Conn.Close()
}

// end keeps the first reason.
func (w *wire) end(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.gone)
	})
}

// silence is how long nothing has come in.
func (w *wire) silence() time.Duration {
	return time.Since(w.start) - time.Duration(w.heard.Load())
}

// reason is why the wire ended; nil while it lives.
func (w *wire) reason() error {
	select {
	case <-w.gone:
		return w.err
	default:
		return nil
	}
}
