package login

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// factsLast is for how long what a cluster said of itself is believed.
const factsLast = 2 * time.Minute

// cachedFacts are the facts of a backend, asked for at most so often.
type cachedFacts struct {
	mu   sync.Mutex
	at   time.Time
	site *cluster.Facts
	err  error
}

// limitsLast is for how long the limits of a cluster are believed while jobs
// are handed over: an hour's watch asks for them once.
const limitsLast = time.Hour

// site asks the cluster, at most every so often.
func (b *backend) site(ctx context.Context) (*cluster.Facts, error) {
	return b.siteWithin(ctx, factsLast)
}

// siteWithin is what the cluster said of itself at most so long ago.
func (b *backend) siteWithin(ctx context.Context, age time.Duration) (*cluster.Facts, error) {
	f := b.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := time.Since(f.at); since < factsLast || f.err == nil && f.site != nil && since < age {
		return f.site, f.err
	}
	f.site, f.err = b.cluster.Facts(ctx)
	f.at = time.Now()
	return f.site, f.err
}

// qosName is the quality of service under which a job would run.
func (b *backend) qosName(s *cluster.Facts, l *cluster.Partition, own string) string {
	asked := b.config.QoS
	if !b.mine(s, asked) {
		asked = "" // preflight says so, once
	}
	return cmp.Or(own, asked, s.DefaultQoS(b.config.Account, l.Name))
}

// mine reports whether a qos is one that the user may ask for, as far as is told.
func (b *backend) mine(s *cluster.Facts, qos string) bool {
	return qos == "" || s.Closed || slices.Contains(s.QoSNames(b.config.Account), qos)
}

// longest is how many elements one array may have here; 0 = not known.
func (b *backend) longest() int {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	s := b.facts.site
	if s == nil || s.MaxArray <= 0 {
		return 1000 // slurm.conf(5), MaxArraySize: 1001 by default
	}
	return s.MaxArray
}

// bounds are the most that a job of a partition and a qos, "" for the one that
// it has without asking, may be given on a retry, and what it is billed.
func (b *backend) bounds(pool, qos string, shape offer.Shape) node.Bounds {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	if s := b.facts.site; s != nil {
		if p := s.Partition(pool); p != nil {
			return node.Bounds{Memory: p.Memory, Walltime: s.LongestTime(b.config.Account, b.qosName(s, p, qos), p), Billing: s.Billing(p, shape), Requeue: s.RequeueExits}
		}
	}
	return node.Bounds{}
}

// gres asks for the GPUs of a shape on a partition.
func (b *backend) gres(pool string, s offer.Shape) string {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	return cluster.Gres(b.facts.site.Partition(pool), s)
}
