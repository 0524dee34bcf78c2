package runpod

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers/rental"
)

// A pace keeps calls within the rest of the service's limits, by the minute, the hour
// and the day, as the service reports it.
type pace struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	mu    sync.Mutex
	next  time.Time     // before it no call is made
	apart time.Duration // between two calls
}

// few is how many calls of a window are left when calls begin to keep apart.
const few = 10

// wait waits for a call's turn.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.apart)
	p.mu.Unlock()
	if d := at.Sub(now); d > 0 {
		return p.sleep(ctx, d)
	}
	return ctx.Err()
}

// window is one member of a RateLimit header: "minute";r=57;t=41.
var window = lazyregexp.New(`r=(\d+);t=(\d+)`)

// heard reads how many calls remain, and for how long they must last.
func (p *pace) heard(r rental.Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apart = 0
	for _, m := range window.FindAllStringSubmatch(r.Header.Get("RateLimit"), -1) {
		left, _ := strconv.Atoi(m[1])
		seconds, _ := strconv.Atoi(m[2])
		if left < few {
			p.apart = max(p.apart, time.Duration(seconds)*time.Second/time.Duration(left+1))
		}
	}
	next := p.now().Add(p.apart)
	if after, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status == http.StatusTooManyRequests && err == nil {
		next = p.now().Add(time.Duration(after) * time.Second)
	}
	if next.After(p.next) {
		p.next = next
	}
}
