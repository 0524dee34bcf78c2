package sim

import (
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// A machine is a rented one that serves one job after another. The bill of a launch is its
// increase of the machine's bill.
type machine struct {
	since, ready time.Time
	until        time.Time // the end of its last job
	jobs, gpus   int       // there now, and those that they have
	paid         time.Duration
}

// rent is the machine of a launch, one that is there before a new one; nil where each launch
// has one of its own.
func (p *place) rent(s offer.Shape, now time.Time) *machine {
	if !p.Shared {
		return nil
	}
	p.machines = slices.DeleteFunc(p.machines, func(m *machine) bool { return m.jobs == 0 && now.Sub(m.until) > p.Kept })
	gpus := max(s.GPUs, 1)
	for _, m := range p.machines {
		if m.gpus+gpus <= max(p.GPUs, gpus) {
			m.jobs, m.gpus = m.jobs+1, m.gpus+gpus
			return m
		}
	}
	m := &machine{since: now, ready: now.Add(p.Boot), jobs: 1, gpus: gpus}
	p.machines = append(p.machines, m)
	return m
}

// ranSince says that a job on the machine has run since a time; nil is no machine.
func (m *machine) ranSince(at time.Time, boot time.Duration) {
	if m != nil && at.Before(m.ready) {
		m.since, m.ready = at.Add(-boot), at
	}
}

// leave ends a launch on its machine. It returns the time by which that makes the bill longer.
func (p *place) leave(m *machine, s offer.Shape, now time.Time) time.Duration {
	m.jobs, m.gpus, m.until = m.jobs-1, m.gpus-max(s.GPUs, 1), now
	due := paid(now.Sub(m.since)+p.Kept, p.Price) - m.paid
	m.paid += due
	return due
}
