package sshx

import (
	"math/rand/v2"
	"time"
)

const (
	firstWait = 500 * time.Millisecond
	longWait  = 30 * time.Second
	settled   = 2 * time.Second // a connection that lived so long was a good one
)

// backoff is how long to leave a host alone after a failed dial: twice as long
// each time, and by chance up to half of that less, so that the clients of a
// host that returns do not all knock at once.
type backoff struct {
	first, long time.Duration
	chance      func() float64 // in [0, 1)
}

func newBackoff() *backoff {
	return &backoff{first: firstWait, long: longWait, chance: rand.Float64}
}

func (b *backoff) after(failures int) time.Duration {
	wait := b.first
	for i := 1; i < failures && wait < b.long; i++ {
		wait *= 2
	}
	wait = min(wait, b.long)
	return wait - time.Duration(b.chance()*float64(wait)/2)
}
