package slurm

import (
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// jobs are how many jobs of a user may run at once on a partition under a qos, ""
// = the default one, and how many may be submitted, by whose limit; 0 = no limit
// is known.
func (b *Site) jobs(s *cluster.Facts, l *cluster.Partition, own string) (running, submitted int, by string) {
	qos := b.QoSName(s, l, own)
	running = s.Running(b.Config.Account, qos, l)
	for _, most := range s.SubmitLimits(b.Config.Account, qos, l) {
		submitted, by = least(submitted, by, most.Most, most.Who)
	}
	return running, submitted, by
}

// jobs are the limits of jobs of the shape on a partition where they differ from
// its pool's, as in a Quote.
func (f *fitter) jobs(p offer.Pool) (running, submitted int, by string) {
	running, submitted, by = p.MaxJobs, p.MaxSubmit, p.SubmitBy
	if l := f.live.Partition(p.Name); l != nil && f.o.QoS != "" {
		running, submitted, by = f.Site.jobs(f.live, l, f.o.QoS)
	}
	if q := f.profiled(p.Name); q != nil && f.live == nil {
		submitted, by = q.MaxSubmit, "qos "+q.Name
	} else if q != nil && f.live.Closed {
		submitted, by = least(submitted, by, q.MaxSubmit, "qos "+q.Name)
	}
	if f.live != nil {
		running = cluster.Least(running, f.live.Licensed(f.o.Requirements()))
	}
	if running = other(running, p.MaxJobs); submitted == p.MaxSubmit && (submitted == 0 || by == p.SubmitBy) {
		return running, 0, ""
	} else if submitted == 0 {
		return running, offer.NoLimit, ""
	}
	return running, submitted, by
}

// together is the room that jobs of the shape's qos may hold together on a partition, where
// that differs from its pool's, as in a Quote.
func (f *fitter) together(p offer.Pool) (offer.Room, string) {
	if f.live == nil || f.o.QoS == "" {
		return offer.Room{}, ""
	}
	l := f.live.Partition(p.Name)
	if l == nil {
		return offer.Room{}, ""
	}
	own, by := f.live.Most(f.Config.Account, f.QoSName(f.live, l, f.o.QoS), l)
	return offer.Room{Devices: other(own.Devices, p.Most.Devices), Cores: other(own.Cores, p.Most.Cores), Memory: other(own.Memory, p.Most.Memory)}, by
}

// least is the smaller of two known limits, and whose it is.
func least(a int, whose string, b int, other string) (most int, by string) {
	if most = cluster.Least(a, b); most != a {
		return most, other
	}
	return a, whose
}

// other is a limit where it differs from the pool's.
func other[T int | int64](own, pool T) T {
	switch own {
	case pool:
		return 0
	case 0:
		return offer.NoLimit
	}
	return own
}
