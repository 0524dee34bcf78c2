// Package clock lets a program run on virtual time. Wall is the time of the
// machine. Virtual is a time that passes only while all goroutines wait: a
// month of waiting takes only as long as the work in it, and the same program
// does the same things in the same order every time.
//
// Goroutines take part if they are started with Go and call Park right before
// every wait:
//
//	clk.Park(func() bool { return len(inbox) > 0 || ctx.Err() != nil })
//	select {
//	case f := <-inbox: …
//	case <-ctx.Done(): …
//	}
package clock

import "time"

// A Clock tells the time and wakes those who wait for it.
type Clock interface {
	Now() time.Time
	// Timer sends once on a channel of capacity 1 after d, unless stopped.
	Timer(d time.Duration) (c <-chan time.Time, stop func())
	// Go runs f in a goroutine that takes part.
	Go(f func())
	// Park is called before a wait. On a virtual clock it returns when ready says that the
	// wait would end; on the wall clock it returns at once, and ready is not called. Ready is
	// called from any goroutine that takes part, but never beside another: it may read their
	// data.
	Park(ready func() bool)
}

// Wall is the clock of the machine.
var Wall Clock = wall{}

type wall struct{}

func (wall) Now() time.Time   { return time.Now() }
func (wall) Go(f func())      { go f() }
func (wall) Park(func() bool) {}
func (wall) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// IsVirtual reports whether a clock is not the machine's.
func IsVirtual(c Clock) bool {
	_, ok := c.(*Virtual)
	return ok
}

// Closed reports whether a channel that only ends is closed; a nil one never is.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Earliest is the earlier of two times; zero is no time.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
