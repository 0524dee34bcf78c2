package history

import (
	"slices"
	"time"

	"github.com/muster-run/muster/state"
)

// Waited is how long the campaign's jobs stood in the queue of a pool: the
// median over phases and smokes that wait for nothing but the queue, of each
// the shortest, since the others of a phase may have waited for a cap of ours.
// It is used where the backend quotes no wait.
func (p *Queues) Waited(backend, name string) (time.Duration, bool) {
	if p.waits == nil {
		p.waits = p.pastWaits()
	}
	list := p.waits[queuePool{backend, name}]
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)/2], true
}

// WaitedAgain is how long launches that continued the work of another waited in
// the queue of a pool: the median over phases, of each the shortest, since the
// others may have waited for room that our own jobs had. First launches count
// where there was none.
func (p *Queues) WaitedAgain(backend, name string) (time.Duration, bool) {
	if p.again == nil {
		p.again = p.pastAgain()
	}
	if list := p.again[queuePool{backend, name}]; len(list) > 0 {
		return list[len(list)/2], true
	}
	return p.Waited(backend, name)
}

func (p *Queues) pastAgain() map[queuePool][]time.Duration {
	out := map[queuePool][]time.Duration{}
	for _, w := range p.Phases {
		if w.Checkpoint == nil {
			continue
		}
		least := map[queuePool]time.Duration{}
		for _, job := range w.Records {
			for k := 1; job != nil && k < len(job.Attempts); k++ {
				at, before := &job.Attempts[k], &job.Attempts[k-1]
				if !GoesOn(w.Phase, job, k-1) || at.Started.IsZero() || before.Ended.IsZero() || at.Backend != before.Backend {
					continue
				}
				of, d := queuePool{at.Backend, at.Pool}, max(at.Started.Sub(before.Ended)-w.Retry.Delay, 0)
				if old, ok := least[of]; !ok || d < old {
					least[of] = d
				}
			}
		}
		for of, d := range least {
			out[of] = append(out[of], d)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// pastWaits are the waits seen, by pool, shortest first.
func (p *Queues) pastWaits() map[queuePool][]time.Duration {
	out := map[queuePool][]time.Duration{}
	add := func(jobs []*state.Job) {
		least := map[queuePool]time.Duration{}
		for _, job := range jobs {
			if job == nil || len(job.Attempts) == 0 {
				continue
			}
			at := &job.Attempts[0]
			if at.Queued.IsZero() || at.Started.IsZero() {
				continue
			}
			of := queuePool{at.Backend, at.Pool}
			if d, ok := least[of]; !ok || Waited(at) < d {
				least[of] = Waited(at)
			}
		}
		for of, d := range least {
			out[of] = append(out[of], d)
		}
	}
	for _, w := range p.Phases {
		if len(w.Inputs) == 0 && len(w.DependsOn) == 0 {
			add(w.Records)
		}
	}
	for _, smoke := range p.Smokes {
		add([]*state.Job{smoke})
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}
