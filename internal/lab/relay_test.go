package lab

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// TestRelay holds that a relay is late and narrow, loses nothing, and resets.
func TestRelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // an echo
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	const latency, rate, size = 50 * time.Millisecond, 1 << 20, 256 << 10
	r := NewRelay(t, l.Addr().String(), latency, rate)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(r.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := dial()
	sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	began := time.Now()
	go func() { c.Write(sent); c.(*net.TCPConn).CloseWrite() }()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes came back: %v", len(got), len(sent), err)
	}
	// There and back, and the line's width at least once: the rest overlaps.
	if least := 2*latency + size*time.Second/rate; time.Since(began) < least {
		t.Errorf("it took %v, which is less than %v", time.Since(began), least)
	}
	if n := r.Carried(); n != 2*size {
		t.Errorf("%d bytes were carried", n)
	}
	c = dial()
	c.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n := r.Reset(); n < 1 {
		t.Errorf("%d connections were reset", n)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("after a reset: %v", err)
	}
	if n := r.Connections(); n != 2 {
		t.Errorf("%d connections", n)
	}
}
