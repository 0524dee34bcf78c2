package queue

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/offer"
)

// A scheduler picks which job starts next.
type scheduler struct {
	*core
	attempts  *attempts
	allocator *allocator
	starts    *starts
	volumes   *volumes
	turn      int           // whose turn it is in the round robin
	starved   time.Duration // see starvation
	cgroups   cgroup.Tree
}

// starvation is how long a ready queue's first job may be passed over by smaller
// ones before nothing else of its kind is started.
const starvation = 30 * time.Second

// maxChecking bounds the checks of a campaign that are under way or wait: it
// starts nothing more while its jobs end faster than their outputs can be
// checked.
const maxChecking = 512

// schedule picks the jobs that start now: one of each campaign in turn, until nothing more
// fits.
func (sd *scheduler) schedule() []*start {
	if sd.yielded || sd.stuck != nil || sd.full != nil || len(sd.byN) == 0 {
		return nil
	}
	var due []*start
	for idle := 0; idle < len(sd.byN); {
		p := sd.byN[sd.turn%len(sd.byN)]
		sd.turn++
		if s := sd.startOne(p); s != nil {
			due = append(due, s)
			idle = 0
		} else {
			idle++
		}
	}
	return due
}

// startOne starts the oldest job of a place that may start and fits.
func (sd *scheduler) startOne(p *place) *start {
	slices.SortStableFunc(p.queues, func(a, b *readyQueue) int { return cmp.Compare(a.turn(), b.turn()) })
	for _, l := range p.queues {
		j := l.first()
		if j == nil {
			return nil // and so it is with those after it
		}
		w := wait{why: sd.mayStart(p, l)}
		if p.rules.Hold {
			w.cause = offer.CampaignHeld
		}
		var got devices.Grant
		if w.why == "" {
			got, w = sd.fits(p, j, l)
		}
		if w.why != "" {
			sd.waits(l, j, w)
			continue
		}
		l.take()
		l.since, l.wait, l.told = 0, wait{}, ""
		return sd.begin(j, got)
	}
	return nil
}

// mayStart says which rule keeps a ready queue from starting, "" if none does.
func (sd *scheduler) mayStart(p *place, l *readyQueue) string {
	switch b := p.breakers[l.of]; {
	case p.rules.Hold:
		return "the campaign is held"
	case p.checking > maxChecking:
		return fmt.Sprintf("the outputs of %s of the campaign are to be verified first", units.Count(p.checking, "job"))
	case b != nil && b.Open:
		if l.of != l.phase {
			return "the breaker of " + l.of + " is open"
		}
		return "the breaker of phase " + l.phase + " is open"
	case p.rules.Cap != nil && p.running >= *p.rules.Cap:
		return fmt.Sprintf("the campaign may run %s here", units.Count(*p.rules.Cap, "job"))
	case p.MaxParallel > 0 && p.running >= p.MaxParallel:
		return fmt.Sprintf("the backend may run %s of a campaign", units.Count(p.MaxParallel, "job"))
	}
	limit := l.cap
	if n, ok := p.rules.Phases[l.phase]; ok {
		limit = n // set since; the jobs came with the limit of their submission
	}
	if limit > 0 && p.phases[l.phase] >= limit {
		return fmt.Sprintf("phase %s may run %s here", l.phase, units.Count(limit, "job"))
	}
	return ""
}

// others names the campaign that runs most jobs here beside one, "" if no other runs any: its
// folder may be gone, and nobody looks for its jobs.
func (sd *scheduler) others(p *place) string {
	var most *place
	for _, o := range sd.places {
		if o != p && o.running > 0 && (most == nil || o.running > most.running || o.running == most.running && o.n < most.n) {
			most = o
		}
	}
	if most == nil {
		return ""
	}
	return fmt.Sprintf("; campaign %q in %s runs %s", most.Campaign, most.Workdir, units.Count(most.running, "job"))
}

// fits says whether the machine has room for a job now, and takes GPUs for it.
func (sd *scheduler) fits(p *place, j *job, l *readyQueue) (devices.Grant, wait) {
	if w := sd.volumes.hasRoom(p); w.why != "" {
		return devices.Grant{}, w
	}
	if w := sd.written(j); w.why != "" {
		return devices.Grant{}, w
	}
	s := j.shape()
	cores, bytes := p.Cores(), p.Bytes()
	switch {
	case p.Slots > 0 && sd.attempts.used.jobs >= p.Slots:
		return devices.Grant{}, wait{why: fmt.Sprintf("%d of %d slots are in use", sd.attempts.used.jobs, p.Slots) + sd.others(p)}
	case machine.CoresOf(s) > 0 && sd.attempts.used.cpus > 0 && sd.attempts.used.cpus+machine.CoresOf(s) > cores:
		return devices.Grant{}, wait{why: fmt.Sprintf("%d of %d cores are in use", sd.attempts.used.cpus, cores) + sd.others(p), short: cpus}
	case s.Memory > 0 && sd.attempts.used.memory > 0 && sd.attempts.used.memory+s.Memory > bytes:
		return devices.Grant{}, wait{why: "other jobs have asked for the memory" + sd.others(p), short: memories}
	case sd.reserved(l, s):
		return devices.Grant{}, wait{why: "a larger job is next"}
	}
	if s.GPUs > 0 {
		return sd.allocator.takeGPUs(p, j)
	}
	return devices.Grant{}, wait{}
}

// written says which running job of another campaign writes where a job is to write:
// when both began, neither file was there. Once the other has ended, the guard of this
// one finds its file.
func (sd *scheduler) written(j *job) wait {
	if len(sd.byN) < 2 {
		return wait{}
	}
	for o := range sd.live {
		if o.place.Lineage == j.place.Lineage {
			continue
		}
		for i := range o.spec.Outputs {
			for k := range j.spec.Outputs {
				if path := outputPath(j, k); path == outputPath(o, i) && !j.spec.Outputs[k].Shared {
					return wait{why: fmt.Sprintf("%s of campaign %q writes to %s now", o.spec.Address, o.place.Campaign, path), foreign: true}
				}
			}
		}
	}
	return wait{}
}

// outputPath is where a job leaves an output.
func outputPath(j *job, k int) string {
	if path := j.spec.Outputs[k].Path; filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(j.spec.Workdir, j.spec.Outputs[k].Path)
}

// A wait is why a ready queue's first job has not started.
type wait struct {
	why     string
	cause   offer.Cause
	short   resource // the resource that our own jobs use too much of
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

// reserved reports whether a job of another ready queue has waited too long for resources that
// this queue's job would take part of.
func (sd *scheduler) reserved(l *readyQueue, s offer.Shape) bool {
	now := int64(monotonic.Uptime())
	for _, p := range sd.byN {
		for _, o := range p.queues {
			r := o.wait.short
			if o == l || o.since == 0 || now-o.since <= int64(sd.starved) || o.first() == nil {
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
var figures = lazyregexp.New(`\d+ MiB`)

// waits notes why a ready queue's first job has not started. Watchers hear of it
// when it is about something that muster does not steer.
func (sd *scheduler) waits(l *readyQueue, j *job, w wait) {
	now := monotonic.Uptime()
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
	obs := sd.observe(j)
	obs.Reason, obs.Cause = w.why, w.cause
	j.Obs = &obs
	sd.step(j, true)
}

// begin records the intent of a start and takes its resources.
func (sd *scheduler) begin(j *job, gpus devices.Grant) *start {
	j.Status = offer.Running
	j.Launch = &attempt.Intent{ID: newID(), Stamp: monotonic.StampNow(), GPUs: gpus.Names, Checkpoint: attempt.CheckpointMark(&j.spec),
		Cgroup: sd.cgroups.Group(filepath.Base(sd.folder(j)))}
	if j.Launch.Late = attempt.Settle(&j.spec, sd.outputsOf); j.Launch.Late != nil {
		j.Launch.Digests = attempt.Digests(j.Launch.Late)
	}
	j.Launch.Scratch, _ = attempt.ScratchFolder(&j.spec, j.place.Scratch, j.Launch.ID) // launch reports the error
	j.locks = gpus.Locks
	j.oomKill = sd.attempts.oomKills()
	j.Launch.OOMKills, j.Launch.Init = j.oomKill+1, initStart()
	j.before, j.use = sd.allocator.devices.Snapshot(j.Launch.GPUs), gpu.Use{}
	sd.attempts.book(j, 1)
	obs := sd.observe(j)
	j.Obs = &obs
	sd.step(j, true)
	sd.live[j] = true
	s := sd.starts.newStart(j)
	s.seq = sd.seq
	sd.attempts.watchOver(j)
	return s
}
