package slurm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// factsLast is how long facts about a cluster are reused.
const factsLast = 2 * time.Minute

// cachedFacts are the last facts about a cluster.
type cachedFacts struct {
	mu     sync.Mutex
	at     time.Time
	site   *cluster.Facts
	err    error
	asking chan struct{} // closed when the cluster has been asked; nil = it is not being asked
}

// limitsLast is how long its limits are reused for submissions: an hour's watch
// asks once.
const limitsLast = time.Hour

// Facts are those of the cluster, at most factsLast old.
func (b *Site) Facts(ctx context.Context) (*cluster.Facts, error) {
	return b.factsWithin(ctx, factsLast)
}

// factsForLimits are the facts for submissions; see limitsLast.
func (b *Site) factsForLimits(ctx context.Context) (*cluster.Facts, error) {
	return b.factsWithin(ctx, limitsLast)
}

// Last are the last facts; nil = the cluster was not asked, or has not answered.
func (b *Site) Last() *cluster.Facts {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	return b.facts.site
}

// factsWithin are facts of at most an age. A busy controller may take longer than
// the caller waits: the question continues for the next caller, so that an expired
// context is neither cached as the cluster's answer nor taken for unknown limits.
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

// ask asks the cluster; each command has a timeout of its own.
func (f *cachedFacts) ask(ctx context.Context, c *cluster.Commands) {
	site, err := c.Facts(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.site, f.err, f.at = site, err, time.Now()
	close(f.asking)
	f.asking = nil
}

// QoSName is the qos of a job.
func (b *Site) QoSName(s *cluster.Facts, l *cluster.Partition, own string) string {
	asked := b.Config.QoS
	if !b.mine(s, asked) {
		asked = "" // preflight says so, once
	}
	return cmp.Or(own, asked, s.DefaultQoS(b.Config.Account, l.Name))
}

// mine reports whether the user may use a qos, as far as is known.
func (b *Site) mine(s *cluster.Facts, qos string) bool {
	return qos == "" || s.Closed || slices.Contains(s.QoSNames(b.Config.Account), qos)
}
