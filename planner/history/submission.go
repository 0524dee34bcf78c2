package history

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

const (
	// longestSubmit is the longest time that counts as a submission: a longer one
	// waited for something that this plan need not wait for.
	longestSubmit = time.Minute
	// lastApplies is how many of the last applies speak for the next.
	lastApplies = 8
	// askedJobs is how many records of a phase are looked at; all of one apply
	// are submitted at about the same time.
	askedJobs = 5000
)

// SubmitDelay is how long it took from the yes to the first submitted
// job, in the median of the applies before: muster's own time, and that of
// the command that submits. Rentals are left out, since their boot counts by
// itself.
func (p *Queues) SubmitDelay() time.Duration {
	first := map[time.Time]time.Duration{} // by apply
	add := func(at *state.Attempt) {
		yes := p.begun(at.Queued)
		if yes.IsZero() || p.Rents(at.Backend) {
			return
		}
		d := min(at.Queued.Sub(yes), longestSubmit)
		if old, ok := first[yes]; !ok || d < old {
			first[yes] = d
		}
	}
	for _, w := range p.Phases {
		for _, job := range w.Records[:min(len(w.Records), askedJobs)] {
			if job != nil && len(job.Attempts) > 0 {
				add(&job.Attempts[0])
			}
		}
	}
	return forecast.Quantile(slices.Collect(maps.Values(first)), 0.5)
}

// begun is the yes to the apply in which something happened, zero where that is
// not one of the last.
func (p *Queues) begun(at time.Time) time.Time {
	if p.yes == nil {
		p.yes = make([]time.Time, 0, lastApplies)
		for _, a := range p.Approvals[max(0, len(p.Approvals)-lastApplies):] {
			p.yes = append(p.yes, a.Begun)
		}
		slices.SortFunc(p.yes, time.Time.Compare)
	}
	k, same := slices.BinarySearchFunc(p.yes, at, time.Time.Compare)
	if same {
		return p.yes[k]
	}
	if k == 0 {
		return time.Time{}
	}
	return p.yes[k-1]
}
