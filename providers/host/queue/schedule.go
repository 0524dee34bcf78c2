package queue

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/offer"
)

// starvation is how long a lane's first job may be passed over by smaller
// ones before nothing else of its kind is started.
const starvation = 30 * time.Second

// maxChecking bounds the checks of a campaign that are under way or wait: it
// starts nothing more while its jobs end faster than their outputs can be
// checked.
const maxChecking = 512

// schedule picks what starts now: one job of each campaign in turn, until
// nothing more fits.
func (q *queue) schedule() []*start {
	if q.yielded || q.stuck != nil || q.full != nil || len(q.byN) == 0 {
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
	slices.SortStableFunc(p.lanes, func(a, b *lane) int { return cmp.Compare(a.turn(), b.turn()) })
	for _, l := range p.lanes {
		j := l.first()
		if j == nil {
			return nil // and so it is with those after it
		}
		w := wait{why: q.mayStart(p, l)}
		var got devices.Grant
		if w.why == "" {
			got, w = q.fits(p, j, l)
		}
		if w.why != "" {
			q.waits(l, j, w)
			continue
		}
		l.take()
		l.since, l.wait, l.told = 0, wait{}, ""
		return q.begin(j, got)
	}
	return nil
}

// mayStart says what of policy keeps a lane from starting, "" if nothing.
func (q *queue) mayStart(p *place, l *lane) string {
	switch b := p.breakers[l.phase]; {
	case p.checking > maxChecking:
		return fmt.Sprintf("the outputs of %d jobs of the campaign are to be verified first", p.checking)
	case p.rules.Hold:
		return offer.CampaignHeld
	case b != nil && b.Open:
		return "the breaker of phase " + l.phase + " is open"
	case p.rules.Cap != nil && p.running >= *p.rules.Cap:
		return fmt.Sprintf("the campaign may run %d jobs here", *p.rules.Cap)
	case p.MaxParallel > 0 && p.running >= p.MaxParallel:
		return fmt.Sprintf("the backend may run %d jobs of a campaign", p.MaxParallel)
	}
	limit := l.cap
	if n, ok := p.rules.Phases[l.phase]; ok {
		limit = n // told since; the jobs came with what held then
	}
	if limit > 0 && p.phases[l.phase] >= limit {
		return fmt.Sprintf("phase %s may run %d jobs here", l.phase, limit)
	}
	return ""
}

// fits says whether the machine has room for a job now, and takes GPUs for it.
func (q *queue) fits(p *place, j *job, l *lane) (devices.Grant, wait) {
	if w := q.hasRoom(p); w.why != "" {
		return devices.Grant{}, w
	}
	s := j.shape()
	cores, bytes := p.Cores(), p.Bytes()
	switch {
	case p.Slots > 0 && q.used.jobs >= p.Slots:
		return devices.Grant{}, wait{why: fmt.Sprintf("all %d slots are taken", p.Slots)}
	case machine.CoresOf(s) > 0 && q.used.cpus > 0 && q.used.cpus+machine.CoresOf(s) > cores:
		return devices.Grant{}, wait{why: fmt.Sprintf("%d of %d cores are in use", q.used.cpus, cores), short: cpus}
	case s.Memory > 0 && q.used.memory > 0 && q.used.memory+s.Memory > bytes:
		return devices.Grant{}, wait{why: "other jobs have asked for the memory", short: memories}
	case q.reserved(l, s):
		return devices.Grant{}, wait{why: "a larger job is next"}
	}
	if s.GPUs > 0 {
		return q.takeGPUs(p, j)
	}
	return devices.Grant{}, wait{}
}

// A wait is why a lane's first job has not started.
type wait struct {
	why     string
	short   resource // what our own jobs hold too much of
	foreign bool     // it is about something that muster does not steer
}

// A resource is given out by the queue, and may run short.
type resource string

const (
	cpus     resource = "cores"
	memories resource = "memory"
	gpus     resource = "GPUs"
)

// of is how much of a resource a shape asks for.
func (r resource) of(s offer.Shape) int64 {
	switch r {
	case cpus:
		return int64(machine.CoresOf(s))
	case memories:
		return s.Memory
	case gpus:
		return int64(s.GPUs)
	}
	return 0
}

// reserved reports whether a job of another lane has waited so long for what
// this one would take some of that this one must not pass it.
func (q *queue) reserved(l *lane, s offer.Shape) bool {
	now := int64(boot.Uptime())
	for _, p := range q.byN {
		for _, o := range p.lanes {
			r := o.wait.short
			if o == l || o.since == 0 || now-o.since <= int64(q.starved) || o.first() == nil {
				continue
			}
			if r.of(s) > 0 && r.of(o.shape) > r.of(s) {
				return l.since == 0 || l.since > o.since
			}
		}
	}
	return false
}

// retell is how often watchers hear of a wait in which only figures change.
const retell = time.Minute

// figures change by themselves.
var figures = regexp.MustCompile(`\d+ MiB`)

// waits notes why a lane's first job has not started. Watchers hear of it
// when it is about something that muster does not steer.
func (q *queue) waits(l *lane, j *job, w wait) {
	now := boot.Uptime()
	if l.since == 0 {
		l.since = int64(now)
	}
	same := w.why == l.wait.why
	l.wait = w
	if same || !w.foreign {
		return
	}
	key := j.spec.Token + figures.ReplaceAllString(w.why, "")
	if key == l.told && now-l.toldAt < retell {
		return
	}
	l.told, l.toldAt = key, now
	obs := q.observe(j)
	obs.Reason = w.why
	j.Obs = &obs
	q.step(j, true)
}

// begin records the intent of a start and books what it takes.
func (q *queue) begin(j *job, gpus devices.Grant) *start {
	j.Status = offer.Running
	j.Launch = &attempt.Launch{ID: newID(), Mark: boot.MarkNow(), GPUs: gpus.Names, Checkpoint: attempt.CheckpointMark(&j.spec),
		Cgroup: q.cgroups.Group(filepath.Base(q.folder(j)))}
	if j.Launch.Late = attempt.Settle(&j.spec, q.outputsOf); j.Launch.Late != nil {
		j.Launch.Digests = attempt.Digests(j.Launch.Late)
	}
	j.locks = gpus.Locks
	j.oomKill = q.oomKills()
	j.Launch.OOMKills, j.Launch.Init = j.oomKill+1, initStart()
	j.before, j.use = q.gpus.Mark(j.Launch.GPUs), gpu.Use{}
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
	q.used.cpus += n * machine.CoresOf(s)
	q.used.memory += int64(n) * s.Memory
	q.used.jobs += n
	j.place.running += n
	j.place.phases[j.spec.Phase] += n
	if n > 0 {
		q.gpus.Hold(j.Launch.GPUs, j.spec.Token)
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
		o.Started, o.GPUs, o.Inputs = l.Began(boot.Now()), l.GPUs, l.Digests
	}
	if j.Status == offer.Running {
		o.Reason = j.silent
	}
	if j.Shape != nil { // else what was asked for
		got := *j.Shape
		o.Got = &got
	}
	return o
}

// outputsOf are the outputs of the job of a token that ended well.
func (q *queue) outputsOf(token string) []offer.Output {
	if j := q.jobs[token]; j != nil && j.Status == offer.Completed && j.Obs != nil {
		return j.Obs.Outputs
	}
	return q.graves[token].Outputs
}
