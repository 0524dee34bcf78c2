package host

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// starvation is how long a lane's first job may be passed over by smaller
// ones before nothing else of its kind is started.
const starvation = 30 * time.Second

// maxBusy bounds the starts and checks under way: work that ended faster than
// its outputs can be checked waits for its turn.
const maxBusy = 512

// schedule picks what starts now: one job of each campaign in turn, until
// nothing more fits.
func (q *queue) schedule() []*start {
	if q.yielded || q.stuck != nil || q.full != nil || len(q.byN) == 0 || q.busy > maxBusy {
		return nil
	}
	var due []*start
	for idle := 0; idle < len(q.byN); {
		p := q.byN[q.turn%len(q.byN)]
		q.turn++
		if s := q.startOne(p); s != nil {
			due = append(due, s)
			idle = 0
		} else {
			idle++
		}
	}
	return due
}

// startOne starts the oldest job of a place that may start and fits.
func (q *queue) startOne(p *place) *start {
	var best *lane
	var job *job
	var gpus []taken
	for _, l := range p.lanes {
		j := l.first()
		if j == nil || job != nil && j.order > job.order {
			continue
		}
		why := q.mayStart(p, l)
		if why == "" {
			var got []taken
			if got, why = q.fits(p, j, l); why == "" {
				freeGPUs(gpus)
				best, job, gpus = l, j, got
				continue
			}
		}
		q.waits(l, j, why)
	}
	if job == nil {
		return nil
	}
	best.take()
	best.since, best.why = 0, ""
	return q.begin(job, gpus)
}

// mayStart says what of policy keeps a lane from starting, "" if nothing.
func (q *queue) mayStart(p *place, l *lane) string {
	switch b := p.breakers[l.phase]; {
	case p.rules.Hold:
		return "the campaign is held"
	case b != nil && b.Open:
		return "the breaker of phase " + l.phase + " is open"
	case p.rules.Cap != nil && p.running >= *p.rules.Cap:
		return fmt.Sprintf("the campaign may run %d jobs here", *p.rules.Cap)
	case p.MaxParallel > 0 && p.running >= p.MaxParallel:
		return fmt.Sprintf("the backend may run %d jobs of a campaign", p.MaxParallel)
	}
	limit := l.cap
	if n, ok := p.rules.Phases[l.phase]; ok && (limit == 0 || n < limit) {
		if p.phases[l.phase] >= n {
			return fmt.Sprintf("phase %s may run %d jobs here", l.phase, n)
		}
	}
	if limit > 0 && p.phases[l.phase] >= limit {
		return fmt.Sprintf("phase %s may run %d jobs here", l.phase, limit)
	}
	return ""
}

// fits says whether the machine has room for a job now, and takes GPUs for it.
func (q *queue) fits(p *place, j *job, l *lane) ([]taken, string) {
	s := j.shape()
	cpus, memory := p.cores(), p.memory()
	switch {
	case p.Slots > 0 && q.used.jobs >= p.Slots:
		return nil, fmt.Sprintf("all %d slots are taken", p.Slots)
	case q.used.cpus > 0 && q.used.cpus+s.CPUs > cpus:
		return nil, fmt.Sprintf("%d of %d cores are in use", q.used.cpus, cpus)
	case s.Memory > 0 && q.used.memory > 0 && q.used.memory+s.Memory > memory:
		return nil, "other jobs have asked for the memory"
	case q.reserved(l, s):
		return nil, "a larger job is next"
	}
	if s.GPUs > 0 {
		return q.takeGPUs(p, j)
	}
	return nil, ""
}

// reserved reports whether a job of another lane has waited so long for
// cores, memory or GPUs that this one must not pass it.
func (q *queue) reserved(l *lane, s offer.Shape) bool {
	now := int64(uptime())
	for _, p := range q.byN {
		for _, o := range p.lanes {
			if o != l && o.since > 0 && now-o.since > int64(starvation) && o.first() != nil && (o.shape.CPUs > s.CPUs || o.shape.Memory > s.Memory) {
				return l.since == 0 || l.since > o.since
			}
		}
	}
	return false
}

// waits notes why a lane's first job has not started. Watchers hear of it
// when it is about something that muster does not steer.
func (q *queue) waits(l *lane, j *job, why string) {
	if l.since == 0 {
		l.since = int64(uptime())
	}
	if why == l.why {
		return
	}
	l.why = why
	if j.shape().GPUs > 0 && q.gpus.strangers(why) {
		obs := q.observe(j)
		obs.Reason = why
		j.Obs = &obs
		q.step(j, true)
	}
}

// cores is how many cores a place may give out.
func (p *place) cores() int {
	if p.CPUs > 0 {
		return p.CPUs
	}
	return runtime.NumCPU()
}

func (p *place) memory() int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return machineMemory()
}

// begin records the intent of a start and books what it takes.
func (q *queue) begin(j *job, gpus []taken) *start {
	j.Status = offer.Running
	j.Launch = &launch{ID: newID(), Boot: bootID(), Up: int64(uptime()), At: time.Now().UnixNano(), GPUs: names(gpus), Checkpoint: checkpointMark(j)}
	j.locks = lockFiles(gpus)
	j.oomKill = q.sweeper.oomKills()
	q.book(j, 1)
	obs := q.observe(j)
	j.Obs = &obs
	q.step(j, true)
	q.live[j] = true
	s := q.newStart(j)
	s.seq = q.seq
	q.watchOver(j)
	return s
}

// book takes what a job asks for (1), or gives it back (-1).
func (q *queue) book(j *job, n int) {
	s := j.shape()
	q.used.cpus += n * s.CPUs
	q.used.memory += int64(n) * s.Memory
	q.used.jobs += n
	j.place.running += n
	j.place.phases[j.spec.Phase] += n
	if n > 0 {
		q.gpus.hold(j.Launch.GPUs, j.spec.Token)
	}
}

// unstart takes back a start that could not be written down.
func (q *queue) unstart(s *start) {
	j := s.job
	q.book(j, -1)
	q.releaseGPUs(j)
	j.Status, j.Launch, j.start = offer.Queued, nil, nil
	q.step(j, false)
	j.place.events = slices.DeleteFunc(j.place.events, func(e event) bool { return e.seq == s.seq })
	if j.cancels {
		j.cancels = false
		q.cancelOne(j.spec.Token, 0)
		return
	}
	q.ready(j)
}

// observe is a job as it is now.
func (q *queue) observe(j *job) offer.Observation {
	o := offer.Observation{Token: j.spec.Token, Presence: offer.Found, Handle: j.spec.Token, Status: j.Status, Attempt: j.attempt(), Node: q.host}
	if l := j.Launch; l != nil {
		o.Started, o.GPUs = time.Unix(0, l.At), l.GPUs
	}
	return o
}
