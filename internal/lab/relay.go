package lab

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Relay is a slow way to a host: data arrives late and no faster than the line's bandwidth,
// and its connections can be reset.
type Relay struct {
	Port int // on 127.0.0.1

	to      string
	latency time.Duration // each way
	rate    int           // bytes per second, each way and connection

	mu       sync.Mutex
	open     map[*net.TCPConn]bool // of both sides
	over     bool
	taken    int // connections so far
	carried  atomic.Int64
	listener net.Listener
	work     sync.WaitGroup
}

// NewRelay relays to an address, HOST:PORT, until the test ends.
func NewRelay(t testing.TB, to string, latency time.Duration, rate int) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Port: l.Addr().(*net.TCPAddr).Port, to: to, latency: latency, rate: rate, open: map[*net.TCPConn]bool{}, listener: l}
	r.work.Go(r.accept)
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		r.over = true
		r.mu.Unlock()
		r.Reset()
		r.work.Wait()
	})
	return r
}

// Reset ends every connection at once with RST, as a middlebox does, and loses the data under
// way. It returns how many there were.
func (r *Relay) Reset() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.open) / 2
	// All ends learn of it first: when one end of the relay has closed, the other can no
	// longer end in order.
	for c := range r.open {
		c.SetLinger(0)
	}
	for c := range r.open {
		c.Close()
	}
	clear(r.open)
	return n
}

// Connections is how many have been made through it.
func (r *Relay) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// Carried is how many bytes have gone through it, both ways.
func (r *Relay) Carried() int64 { return r.carried.Load() }

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.to)
		if err != nil {
			near.Close()
			continue
		}
		a, b := near.(*net.TCPConn), far.(*net.TCPConn)
		if !r.take(a, b) {
			return
		}
		r.work.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { r.carry(b, a) })
			both.Go(func() { r.carry(a, b) })
			both.Wait()
			r.drop(a, b)
		})
	}
}

func (r *Relay) drop(a, b *net.TCPConn) {
	a.Close()
	b.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, a)
	delete(r.open, b)
}

func (r *Relay) take(a, b *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		a.Close()
		b.Close()
		return false
	}
	r.open[a], r.open[b] = true, true
	r.taken++
	return true
}

// A piece is bytes on their way.
type piece struct {
	bytes []byte
	due   time.Time // at the other end
}

// window is how many pieces may be under way in one direction; a sender
// beyond it waits, as with TCP's own window.
const window = 256

// carry passes bytes from one side to the other, late. Each piece occupies the line for as
// long as its bytes need. It passes on an orderly end alone: a side that was cut off cuts off
// the other.
func (r *Relay) carry(to, from *net.TCPConn) {
	way := make(chan piece, window)
	ended := false // written before way is closed, read after
	var sending sync.WaitGroup
	defer sending.Wait()
	defer close(way)
	sending.Go(func() {
		for p := range way {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				from.CloseRead()
				break
			}
			r.carried.Add(int64(len(p.bytes)))
		}
		for range way { // the rest has no receiver
		}
		if ended {
			to.CloseWrite()
		} else {
			to.SetLinger(0)
			to.Close()
		}
	})
	free := time.Now() // when the line is
	for {
		b := make([]byte, 4<<10)
		n, err := from.Read(b)
		if n > 0 {
			if now := time.Now(); free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(n) * time.Second / time.Duration(r.rate))
			way <- piece{b[:n], free.Add(r.latency)}
		}
		if err != nil {
			ended = err == io.EOF
			return
		}
	}
}
