package planner

import (
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
	began := make([]time.Time, 0, lastApplies)
	for _, a := range m.st.Approvals[max(0, len(m.st.Approvals)-lastApplies):] {
		began = append(began, a.Begun)
	}
	slices.SortFunc(began, time.Time.Compare)
	first := make([]time.Duration, len(began)) // by apply; 0 = nothing was
	add := func(at *state.Attempt) {
		k, same := slices.BinarySearchFunc(began, at.Queued, time.Time.Compare)
		if !same {
			k--
		}
		if at.Queued.IsZero() || k < 0 || m.rents(at.Backend) {
			return
		}
		if d := max(at.Queued.Sub(began[k]), 1); first[k] == 0 || d < first[k] {
			first[k] = min(d, longestHandOver)
		}
	}
	for _, w := range m.works {
		for _, job := range w.rec[:min(len(w.rec), askedJobs)] {
			if job != nil && len(job.Attempts) > 0 {
				add(&job.Attempts[0])
			}
		}
	}
	return forecast.Quantile(slices.DeleteFunc(first, func(d time.Duration) bool { return d == 0 }), 0.5)
}

// rents reports whether a backend's machines are rented for the jobs.
func (m *maker) rents(backend string) bool {
	return slices.ContainsFunc(m.in.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == backend && m.in.Can[b.Type].Rents })
}
