package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// defaultSilence is how long a queue may say nothing before it counts as hung.
const defaultSilence = 15 * time.Second

// pulses is how often in that time it is asked whether it is there.
const pulses = 8

// A Silent error says that the queue is connected and says nothing, not even
// to the question whether it is there. For 0 means that it was not asked.
type Silent struct{ For time.Duration }

func (s Silent) Error() string {
	if s.For == 0 {
		return "the queue has been stopped"
	}
	return fmt.Sprintf("the queue has said nothing for %v", s.For)
}

// A Conn is one connection to a queue with its open questions. It may be used
// concurrently. While a question is open and nothing is heard, it asks whether
// the queue is there; if that has no answer, either, the link ends as Silent.
type Conn struct {
	conn    net.Conn
	f       *frames
	silence time.Duration
	ended   chan struct{}

	mu    sync.Mutex
	next  uint64
	open  map[uint64]chan message
	heard uint64 // messages
	err   error
}

// NewLink asks on a connection; silence 0 is DefaultSilence.
func NewLink(conn net.Conn, silence time.Duration) *Conn {
	if silence <= 0 {
		silence = defaultSilence
	}
	l := &Conn{conn: conn, f: newFrames(conn), silence: silence, open: map[uint64]chan message{}, ended: make(chan struct{})}
	go l.listen()
	go l.heartbeat()
	return l
}

// Close ends the connection; open questions fail.
func (l *Conn) Close() error { return l.conn.Close() }

// Broken reports whether the connection has ended.
func (l *Conn) Broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil
}

// listen hands out answers until the connection ends.
func (l *Conn) listen() {
	for {
		m, err := l.f.read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the queue has ended")
			}
			l.end(err)
			return
		}
		l.mu.Lock()
		l.heard++
		if c := l.open[m.ID]; c != nil {
			delete(l.open, m.ID)
			c <- m
		}
		l.mu.Unlock()
	}
}

// end fails the open questions; the first reason counts.
func (l *Conn) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	for _, c := range l.open {
		close(c)
	}
	l.open = nil
	close(l.ended)
	l.conn.Close()
}

// heartbeat ends a connection on which nothing arrives. It counts its own ticks, so that time
// in which this process was stopped does not count.
func (l *Conn) heartbeat() {
	tick := time.NewTicker(l.silence / pulses)
	defer tick.Stop()
	silent, last := 0, uint64(0)
	for {
		select {
		case <-tick.C:
		case <-l.ended:
			return
		}
		l.mu.Lock()
		heard, waiting := l.heard, len(l.open) > 0
		l.mu.Unlock()
		switch {
		case heard != last || !waiting:
			silent, last = 0, heard
			continue
		case silent == pulses:
			l.end(Silent{For: l.silence})
			return
		case silent == 0: // on its own: a queue that reads nothing takes nothing, either
			go l.f.write(message{Op: "ping", Body: json.RawMessage("{}")})
		}
		silent++
	}
}

// Ask asks one question and reads the answer into out, if that is not nil. A refusal of the
// queue is a *providers.Error.
func (l *Conn) Ask(ctx context.Context, op string, body json.RawMessage, out any) error {
	m, err := l.ask(ctx, op, body)
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return m.Error
	case out == nil:
		return nil
	}
	return json.Unmarshal(m.Body, out)
}

func (l *Conn) ask(ctx context.Context, op string, body json.RawMessage) (message, error) {
	c := make(chan message, 1)
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return message{}, l.err
	}
	l.next++
	id := l.next
	l.open[id] = c
	l.mu.Unlock()
	wrote := make(chan error, 1)
	go func() { wrote <- l.f.write(message{ID: id, Op: op, Body: body}) }()
	for {
		select {
		case err := <-wrote:
			if err != nil {
				l.drop(id)
				return message{}, cmp.Or(l.reason(), err)
			}
			wrote = nil
		case m, ok := <-c:
			if !ok {
				return message{}, l.reason()
			}
			return m, nil
		case <-ctx.Done():
			l.drop(id)
			go l.f.write(message{ID: id, Op: "cancel"})
			return message{}, ctx.Err()
		}
	}
}

func (l *Conn) drop(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// reason is why the link has ended.
func (l *Conn) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
