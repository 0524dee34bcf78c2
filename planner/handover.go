package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

const (
	// longestHandOver is what a hand-over is taken to last at most: a longer one
	// waited for something that this plan need not wait for.
	longestHandOver = time.Minute
	// lastApplies is how many of the last applies speak for the next.
	lastApplies = 8
	// askedJobs is how many records of a phase are looked at; all of one apply
	// are handed over at about the same time.
	askedJobs = 5000
)

// handOver is how long it took from the yes to the first job that was handed
// over, in the median of the applies before: muster's own time, and that of
// the command that submits. Rentals are left out, since their boot counts by
// itself.
func (m *maker) handOver() time.Duration {
	first := map[time.Time]time.Duration{} // by apply
	add := func(at *state.Attempt) {
		yes := m.begun(at.Queued)
		if yes.IsZero() || m.rents(at.Backend) {
			return
		}
		d := min(at.Queued.Sub(yes), longestHandOver)
		if old, ok := first[yes]; !ok || d < old {
			first[yes] = d
		}
	}
	for _, w := range m.works {
		for _, job := range w.rec[:min(len(w.rec), askedJobs)] {
			if job != nil && len(job.Attempts) > 0 {
				add(&job.Attempts[0])
			}
		}
	}
	return forecast.Quantile(slices.Collect(maps.Values(first)), 0.5)
}

// begun is the yes to the apply in which something happened, zero where that is
// not one of the last.
func (m *maker) begun(at time.Time) time.Time {
	if m.yes == nil {
		m.yes = make([]time.Time, 0, lastApplies)
		for _, a := range m.st.Approvals[max(0, len(m.st.Approvals)-lastApplies):] {
			m.yes = append(m.yes, a.Begun)
		}
		slices.SortFunc(m.yes, time.Time.Compare)
	}
	k, same := slices.BinarySearchFunc(m.yes, at, time.Time.Compare)
	if same {
		return m.yes[k]
	}
	if k == 0 {
		return time.Time{}
	}
	return m.yes[k-1]
}

// rents reports whether a backend's machines are rented for the jobs.
func (m *maker) rents(backend string) bool {
	return slices.ContainsFunc(m.in.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == backend && m.in.Can[b.Type].Rents })
}
