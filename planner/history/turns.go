package history

import (
	"time"

	"github.com/muster-run/muster/state"
)

// A Turn is the time from the end of a job to the start of the next in its
// place, in the median and at most nine times in ten, and how often that was
// seen; 0 times = by the wait for an idle place.
type Turn struct {
	Each, Late time.Duration
	Times      int
	// Spread is the standard deviation of the logarithm of the launches' waits in
	// its queue where no job of ours was before them; 0 = not known.
	Spread float64
}

// Turn is the turn of a pool by the campaign's launches.
func (p *Queues) Turn(backend, name string) Turn {
	if p.turns == nil {
		p.turns = p.pastTurns()
	}
	return p.turns[queuePool{backend, name}]
}

func (p *Queues) pastTurns() map[queuePool]Turn {
	seen := map[queuePool]*turnover{}
	for _, w := range p.Phases {
		ready := p.readyTimes(w)
		for i, job := range w.Records[:min(len(w.Records), askedJobs)] {
			if job == nil {
				continue
			}
			for k := range job.Attempts {
				at := &job.Attempts[k]
				of := queuePool{at.Backend, at.Pool}
				if seen[of] == nil {
					seen[of] = &turnover{}
				}
				var since time.Time
				if k == 0 {
					since = ready(i, at)
				}
				seen[of].add(at, since)
			}
		}
	}
	out := map[queuePool]Turn{}
	for of, t := range seen {
		each, late, times := t.takes()
		out[of] = Turn{each, late, times, t.spread()}
	}
	return out
}

// readyTimes tells since when a cell's first launch waited for nothing but its
// turn: since the yes to the apply that handed it over, and all that it reads
// was there. Where a cap of ours held it back, that is part of its turn.
func (p *Queues) readyTimes(w PhaseRecords) func(cell int, at *state.Attempt) time.Time {
	var whole time.Time // end of the phases it waits for
	for _, name := range w.DependsOn {
		whole = laterOf(whole, lastEnd(p.records(name), nil))
	}
	ends := make([]map[int]time.Time, len(w.Inputs)) // of each input's groups
	return func(cell int, at *state.Attempt) time.Time {
		if at.Queued.IsZero() {
			return time.Time{}
		}
		since := laterOf(p.begun(at.Queued), whole)
		if w.Smoke != nil || len(w.Pilot) > 0 || since.IsZero() { // a gate may have held it back
			since = laterOf(at.Queued, whole)
		}
		for k, in := range w.Inputs {
			if ends[k] == nil {
				ends[k] = map[int]time.Time{}
			}
			g := in.GroupOf(cell)
			if _, ok := ends[k][g]; !ok {
				ends[k][g] = lastEnd(p.records(in.From.Name), in.Members(g))
			}
			since = laterOf(since, ends[k][g])
		}
		return since
	}
}

// lastEnd is when the last of some cells of a phase ended; nil = of all.
func lastEnd(records []*state.Job, cells []int) (end time.Time) {
	look := func(job *state.Job) {
		if job != nil && job.Last() != nil {
			end = laterOf(end, job.Last().Ended)
		}
	}
	if cells == nil {
		for _, job := range records {
			look(job)
		}
	}
	for _, c := range cells {
		if c < len(records) {
			look(records[c])
		}
	}
	return end
}
