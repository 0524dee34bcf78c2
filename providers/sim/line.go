package sim

import (
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A place is the free part of a pool.
type place struct {
	Pool
	slots, devices, cores int
	bytes                 int64
	started               int
	machines              []*machine // where the pool's jobs share them
}

// A line is jobs that need the same and start in order.
type line struct {
	at     *place
	key    lineKey
	queue  []*job
	before int // of queue, started
}

type lineKey struct {
	pool, phase string
	gpus, cpus  int
	bytes       int64
}

// fate is how a job's launch goes.
func (w *world) fate(j *job) *Fate {
	f := w.site.Model(j.Job, j.launch)
	return &f
}

// queue begins a launch: it waits its turn.
func (w *world) queue(j *job) {
	j.status = offer.Queued
	j.fate = w.fate(j)
	if left, ok := w.left[j.Address]; ok && j.Checkpoint.Path != "" {
		j.fate.Takes = left
		j.fate.After = min(j.fate.After, left)
	}
	if w.awaitsTurn(j) {
		return
	}
	if j.fate.Wait <= 0 {
		w.lineUp(j)
		return
	}
	w.foresee(w.now.Add(j.fate.Wait), itsTurn, j)
}

// lineUp puts a job whose turn it is behind those that need the same.
func (w *world) lineUp(j *job) {
	l := w.lineOf(j)
	j.line = l
	l.queue = append(l.queue, j)
}

func (w *world) lineOf(j *job) *line {
	p := w.pools[j.Pool]
	key := p.need(j.Job)
	l := w.byKey[key]
	if l == nil {
		l = &line{at: p, key: key}
		w.byKey[key] = l
		w.lines = append(w.lines, l)
	}
	return l
}

// need is the part of the pool that a job takes. Resources that the pool does
// not count are left out, so that jobs that differ only in them wait in one
// line.
func (p *place) need(j *providers.Job) lineKey {
	takes := p.Takes(j.Shape)
	k := lineKey{pool: p.Name, phase: j.Phase, gpus: min(takes.Devices, p.Devices)}
	if p.Cores > 0 && (k.gpus == 0 || takes.Cores > 1) {
		k.cpus = min(takes.Cores, p.Cores)
	}
	if p.Bytes > 0 {
		k.bytes = min(takes.Memory, p.Bytes)
	}
	return k
}

func (p *place) fits(k lineKey) bool {
	return (p.Slots == 0 || p.slots > 0) && p.devices >= k.gpus && p.cores >= k.cpus && p.bytes >= k.bytes
}

func (p *place) take(k lineKey, n int) {
	p.slots -= n
	p.devices -= n * k.gpus
	p.cores -= n * k.cpus
	p.bytes -= int64(n) * k.bytes
}

// fill starts the jobs for which there is room, in the order in which lines
// were made.
func (w *world) fill() {
	if w.hold {
		return
	}
	for _, l := range w.lines {
		for l.before < len(l.queue) && l.at.fits(l.key) && !w.full() {
			j := l.first(w)
			if j == nil {
				break
			}
			w.start(j)
		}
	}
}

// full reports whether the backend as a whole takes no more.
func (w *world) full() bool {
	return w.limit > 0 && w.running >= w.limit || w.campaign != nil && *w.campaign >= 0 && w.running >= *w.campaign
}

// first takes the first job off a line that is not kept back; nil for none.
func (l *line) first(w *world) *job {
	for i := l.before; i < len(l.queue); i++ {
		j := l.queue[i]
		if j != nil && (j.line != l || j.status != offer.Queued) {
			l.queue[i], j = nil, nil // it left
		}
		if j == nil {
			if i == l.before {
				l.before++
			}
			continue
		}
		if limit := w.capOf(j); limit > 0 && w.byPhase[j.Phase] >= limit {
			return nil // all of a line are of one phase
		}
		if j.held {
			continue
		}
		l.queue[i] = nil
		if i == l.before {
			l.before++
		}
		if l.before > 1024 && l.before*2 > len(l.queue) {
			l.queue, l.before = slices.Clone(l.queue[l.before:]), 0
		}
		return j
	}
	return nil
}

func (w *world) capOf(j *job) int {
	if n, ok := w.caps[j.Phase]; ok {
		return n
	}
	return j.Cap
}
