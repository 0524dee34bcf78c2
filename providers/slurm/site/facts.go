package site

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// factsLast is for how long what a cluster said of itself is believed.
const factsLast = 2 * time.Minute

// cachedFacts are the facts of a backend, asked for at most so often.
type cachedFacts struct {
	mu     sync.Mutex
	at     time.Time
	site   *cluster.Facts
	err    error
	asking chan struct{} // closed when the cluster has been asked; nil = it is not being asked
}

// limitsLast is for how long the limits of a cluster are believed while jobs
// are handed over: an hour's watch asks for them once.
const limitsLast = time.Hour

// Facts asks the cluster, at most every so often.
func (b *Site) Facts(ctx context.Context) (*cluster.Facts, error) {
	return b.factsWithin(ctx, factsLast)
}

// Limits are the facts for handing jobs over: see limitsLast.
func (b *Site) Limits(ctx context.Context) (*cluster.Facts, error) {
	return b.factsWithin(ctx, limitsLast)
}

// Last is what the cluster said of itself last; nil = it has not been asked, or
// has not answered.
func (b *Site) Last() *cluster.Facts {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	return b.facts.site
}

// factsWithin is what the cluster said of itself at most so long ago. A busy
// controller may take longer than who asks waits: the asking goes on for the
// next one, so that a time that ran out is neither remembered as the cluster's
// answer nor the reason why it tells of no limits.
func (b *Site) factsWithin(ctx context.Context, age time.Duration) (*cluster.Facts, error) {
	f := b.facts
	f.mu.Lock()
	if since := time.Since(f.at); since < factsLast || f.err == nil && f.site != nil && since < age {
		defer f.mu.Unlock()
		return f.site, f.err
	}
	if f.asking == nil {
		f.asking = make(chan struct{})
		go f.ask(context.WithoutCancel(ctx), b.Cluster)
	}
	asking := f.asking
	f.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.site, f.err
}

// ask asks the cluster; each of its commands has its own limit.
func (f *cachedFacts) ask(ctx context.Context, c *cluster.Commands) {
	site, err := c.Facts(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.site, f.err, f.at = site, err, time.Now()
	close(f.asking)
	f.asking = nil
}

// QoSName is the quality of service under which a job would run.
func (b *Site) QoSName(s *cluster.Facts, l *cluster.Partition, own string) string {
	asked := b.Config.QoS
	if !b.mine(s, asked) {
		asked = "" // preflight says so, once
	}
	return cmp.Or(own, asked, s.DefaultQoS(b.Config.Account, l.Name))
}

// mine reports whether a qos is one that the user may ask for, as far as is told.
func (b *Site) mine(s *cluster.Facts, qos string) bool {
	return qos == "" || s.Closed || slices.Contains(s.QoSNames(b.Config.Account), qos)
}
