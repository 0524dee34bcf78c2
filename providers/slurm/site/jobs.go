package site

import (
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// jobs is how many of a user's jobs may run at once on a partition under a qos,
// "" for that of jobs that name none, and how many may be queued or running; 0 =
// no limit is known.
func (b *Site) jobs(s *cluster.Facts, l *cluster.Partition, own string) (running, submitted int) {
	qos := b.QoSName(s, l, own)
	for _, q := range s.Qualities(qos, l) {
		running = cluster.Least(running, q.MaxJobs)
	}
	for _, most := range s.SubmitLimits(b.Config.Account, qos, l) {
		submitted = cluster.Least(submitted, most.Most)
	}
	return running, submitted
}

// jobs are the limits of jobs of the shape on a partition where they are not those
// that its pool tells, as in a Quote.
func (f *fitter) jobs(p offer.Pool) (running, submitted int) {
	running, submitted = p.MaxJobs, p.MaxSubmit
	if l := f.live.Partition(p.Name); l != nil && f.o.QoS != "" {
		running, submitted = f.Site.jobs(f.live, l, f.o.QoS)
	}
	if q := f.profiled(p.Name); q != nil && f.live == nil {
		submitted = q.MaxSubmit
	} else if q != nil && f.live.Closed {
		submitted = cluster.Least(submitted, q.MaxSubmit)
	}
	if f.live != nil {
		running = cluster.Least(running, f.live.Licensed(f.o.Wishes()))
	}
	return other(running, p.MaxJobs), other(submitted, p.MaxSubmit)
}

// other is a limit where it is not that of a pool.
func other(own, pool int) int {
	switch own {
	case pool:
		return 0
	case 0:
		return offer.NoLimit
	}
	return own
}
