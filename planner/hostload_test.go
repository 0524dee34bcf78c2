package planner

import (
	"testing"
	"time"
)

// TestChoose: the host that is through first, and of equal ones the first; one
// that has the inputs before one that has not.
func TestChoose(t *testing.T) {
	l := newHostLoad()
	of := []host{{Backend: "ssh.lab", Pool: "x", Share: 1, Bit: l.Bit("x")}, {Backend: "ssh.lab", Pool: "y", Share: 0.5, Bit: l.Bit("y")}}
	var got string
	for range 6 {
		h := l.Choose(of, time.Hour, &nearness{}, 0)
		l.Put(h, time.Hour)
		got += h.Pool
	}
	if got != "yxyyxy" {
		t.Errorf("%s", got)
	}
	l.Begin(of[0], time.Hour)
	if h := l.Choose(of, time.Hour, &nearness{}, 0); h.Pool != "y" {
		t.Errorf("a wait begins anew on a host that is known: %s", h.Pool)
	}
}
