package sim

import (
	"container/heap"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A world is one simulated backend: its queue, its jobs and its events.
//
//	submitted ──after──▶ waits its turn ──wait──▶ in line ──room──▶ running ──end──▶ ended
//	                          ▲                                        │
//	                          └──────────── delay ◀── retried ◀────────┘
//
// A question or a watch moves it to the time of its clock, through every instant at which
// something was due. The caller holds its lock.
type world struct {
	site  Site
	limit int // most jobs running at once, over all pools; 0 = no limit
	now   time.Time
	epoch time.Time // of the first submission

	jobs  map[string]*job // by token
	due   dues
	seq   int
	pools map[string]*place
	lines []*line // of all pools, in the order in which they were made
	byKey map[lineKey]*line

	after    map[string][]*job // by the token they come after
	packs    map[string]*pack  // whose jobs take turns
	running  int
	byPhase  map[string]int
	left     map[string]time.Duration // work left of jobs with a checkpoint, by address
	touched  map[string]time.Time     // checkpoints that were written, by path
	fence    providers.Fence
	hold     bool
	caps     map[string]int
	campaign *int // cap
	feed     feed
	sea      *sea
	link     time.Time // until when its link is busy
}

func newWorld(s Site, limit int) *world {
	w := &world{site: s, limit: limit, jobs: map[string]*job{}, pools: map[string]*place{}, byKey: map[lineKey]*line{}, after: map[string][]*job{}, packs: map[string]*pack{},
		byPhase: map[string]int{}, left: map[string]time.Duration{}, touched: map[string]time.Time{}, caps: map[string]int{}}
	w.feed.bell = make(chan struct{})
	for _, p := range s.Pools {
		w.pools[p.Name] = &place{Pool: p, slots: p.Slots, devices: p.Devices, cores: p.Cores, bytes: p.Bytes, started: s.Launches[p.Name]}
	}
	return w
}

func (w *world) foresee(at time.Time, what what, j *job) {
	d := due{at: at, seq: w.seq, what: what, job: j}
	if j != nil {
		j.turn++
		d.turn = j.turn
	}
	w.seq++
	heap.Push(&w.due, d)
}

// next is when something is due; zero for never.
func (w *world) next() time.Time {
	for len(w.due) > 0 {
		if d := w.due[0]; d.job == nil || d.turn == d.job.turn {
			return d.at
		}
		heap.Pop(&w.due)
	}
	return time.Time{}
}

// advance runs events that are due until a time.
func (w *world) advance(to time.Time) {
	for {
		at := w.next()
		if at.IsZero() || at.After(to) {
			break
		}
		w.now = at
		for len(w.due) > 0 && !w.due[0].at.After(at) {
			d := heap.Pop(&w.due).(due)
			if d.job == nil {
				w.feed.ring() // an outage
			} else if d.turn == d.job.turn {
				w.happen(d)
			}
		}
		w.fill()
	}
	if to.After(w.now) {
		w.now = to
	}
}

func (w *world) happen(d due) {
	switch d.what {
	case itsTurn:
		w.lineUp(d.job)
	case itsEnd:
		w.end(d.job)
	case itsRetry:
		w.queue(d.job)
	}
}

// away reports whether the site cannot be asked now.
func (w *world) away() bool {
	if w.epoch.IsZero() {
		return false
	}
	t := w.now.Sub(w.epoch)
	return slices.ContainsFunc(w.site.Outages, func(o Outage) bool { return t >= o.After && t < o.After+o.Lasts })
}

// submit takes a job in.
func (w *world) submit(j providers.Job) *providers.Error {
	n := newJob(j)
	if old := w.jobs[j.Token]; old != nil {
		if old.print != n.print {
			return providers.Errorf(providers.Conflict, "Token %s is known with another specification", j.Token)
		}
		return nil
	}
	if w.pools[j.Pool] == nil {
		return providers.Errorf(providers.Invalid, "There is no pool %q", j.Pool)
	}
	if w.epoch.IsZero() {
		w.begin(w.now)
	}
	w.jobs[j.Token] = n
	for _, t := range j.After {
		if u := w.jobs[t]; u != nil && u.status != offer.Completed {
			n.waits++
			w.after[t] = append(w.after[t], n)
		}
	}
	if n.waits == 0 {
		w.queue(n)
	}
	return nil
}

// remember takes in earlier jobs: running ones go on, whatever room there is now.
func (w *world) remember() {
	if !w.site.Epoch.IsZero() {
		w.begin(w.site.Epoch)
	}
	for _, p := range w.site.Present {
		j := newJob(p.Job)
		j.held = p.Held && !p.Running
		w.jobs[j.Token] = j
		if w.pools[j.Pool] == nil {
			continue // it will never start: its pool is gone
		}
		if !p.Running {
			w.queue(j)
			continue
		}
		j.fate = w.fate(j)
		j.line = w.lineOf(j)
		w.start(j)
		at := j.line.at
		at.started-- // it was counted when it started
		if !p.Since.IsZero() {
			j.began = p.Since
			j.factor = w.factor(at, p.Nth, p.Since)
			j.machine.ranSince(p.Since, at.Boot)
			w.tell(j, offer.Observation{Status: offer.Running, Started: j.began})
		}
		end := j.began.Add(j.lasts())
		if end.Before(w.now) { // it takes longer than was drawn
			end = w.now.Add(j.lasts() / 10)
		}
		w.foresee(end, itsEnd, j)
	}
	w.fill()
}

// begin sets the time from which outages and prices count.
func (w *world) begin(at time.Time) {
	w.epoch = at
	for _, o := range w.site.Outages {
		for _, d := range []time.Duration{o.After, o.After + o.Lasts} {
			if t := at.Add(d); t.After(w.now) {
				w.foresee(t, anOutage, nil)
			}
		}
	}
}
