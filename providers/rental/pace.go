package rental

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A Pace keeps calls apart, since clouds refuse those that come too often.
type Pace struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	mu    sync.Mutex
	next  map[string]time.Time // by kind of call
}

// NewPace makes one that has heard of no call, in the time of an access.
func NewPace(a Access) *Pace {
	return &Pace{now: a.Now, sleep: a.Sleep, next: map[string]time.Time{}}
}

// Wait waits until a call of these kinds may be made. Each kind has a least time between its
// calls.
func (p *Pace) Wait(ctx context.Context, apart map[string]time.Duration) error {
	p.mu.Lock()
	now := p.now()
	at := now
	for kind := range apart {
		if p.next[kind].After(at) {
			at = p.next[kind]
		}
	}
	for kind, d := range apart {
		p.next[kind] = at.Add(d)
	}
	p.mu.Unlock()
	if d := at.Sub(now); d > 0 {
		return p.sleep(ctx, d)
	}
	return ctx.Err()
}

// longestAfter is the longest Retry-After that is believed.
const longestAfter = time.Minute

// Refused has the next call of a kind wait as long as the answer to one that came too
// often asks, or d if it does not say.
func (p *Pace) Refused(kind string, r Reply, d time.Duration) {
	if n, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && n > 0 && r.Status == http.StatusTooManyRequests {
		d = min(time.Duration(n)*time.Second, longestAfter)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.now().Add(d); at.After(p.next[kind]) {
		p.next[kind] = at
	}
}
