package facts

import (
	"context"
	"sync"
	"time"
)

const (
	// Fresh is how long facts about a cluster are reused.
	Fresh = 2 * time.Minute
	// FreshForLimits is how long they are reused for submissions, whose limits change
	// seldom: an hour's watch asks once.
	FreshForLimits = time.Hour
)

// A Cache has the last facts about a cluster. The zero value is empty.
type Cache[F any] struct {
	mu     sync.Mutex
	at     time.Time
	facts  *F
	err    error
	asking chan struct{} // closed when the cluster has been asked; nil = it is not being asked
}

// Last are the last facts; nil = the cluster was not asked, or has not answered.
func (c *Cache[F]) Last() *F {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts
}

// Recall takes facts that are known from elsewhere for the cluster's answer. The next
// question asks all the same.
func (c *Cache[F]) Recall(facts *F) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts = facts
}

// Within are facts of at most an age; ask asks the cluster, and bounds its own time. A
// busy server may take longer than the caller waits: the question continues for the
// next caller, so that an expired context is neither cached as the cluster's answer
// nor taken for unknown limits.
func (c *Cache[F]) Within(ctx context.Context, age time.Duration, ask func(context.Context) (*F, error)) (*F, error) {
	c.mu.Lock()
	if since := time.Since(c.at); since < Fresh || c.err == nil && c.facts != nil && since < age {
		defer c.mu.Unlock()
		return c.facts, c.err
	}
	if c.asking == nil {
		c.asking = make(chan struct{})
		go c.ask(context.WithoutCancel(ctx), ask)
	}
	asking := c.asking
	c.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts, c.err
}

func (c *Cache[F]) ask(ctx context.Context, ask func(context.Context) (*F, error)) {
	facts, err := ask(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts, c.err, c.at = facts, err, time.Now()
	close(c.asking)
	c.asking = nil
}
