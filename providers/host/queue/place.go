package queue

import (
	"container/heap"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// place is a Place with its jobs.
type place struct {
	machine.Tenant
	n        int
	digest   uint64
	queues   []*readyQueue
	running  int
	checking int            // attempts that are examined, or wait for that
	checks   chan struct{}  // holds one for each that is examined now
	phases   map[string]int // running jobs by phase
	rules    rules
	breakers map[string]*breaker.Count
	volume   volume
	events   []event // not yet acknowledged
	acked    uint64
	stalled  time.Duration // uptime when watchers last heard that the spool is full
}

// An event is one message to watchers, by number.
type event struct {
	seq  uint64
	obs  offer.Observation
	note *providers.Note
}

func key(p machine.Tenant) string { return p.Lineage + "/" + p.Backend }

func digest(p machine.Tenant) uint64 {
	b, _ := json.Marshal(p)
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// at finds a place, or adds it; the settings of a newer client replace the old ones.
func (c *core) at(p machine.Tenant) *place {
	d := digest(p)
	pl := c.places[key(p)]
	if pl == nil {
		pl = &place{n: len(c.byN), checks: make(chan struct{}, maxChecks), phases: map[string]int{}, breakers: map[string]*breaker.Count{}}
		c.places[key(p)] = pl
		c.byN = append(c.byN, pl)
	} else if pl.digest == d {
		return pl
	}
	pl.Tenant, pl.digest = p, d
	c.put(entry{Place: &placeEntry{N: pl.n, Place: p}})
	return pl
}

// A readyQueue holds the ready jobs of a place that ask for the same: if its first
// does not fit, none does.
type readyQueue struct {
	phase string
	of    string // whose breaker may stop it
	shape offer.Shape
	cap   int
	jobs  readyHeap
	since int64 // uptime in ns since its first job has not fitted; 0 = it has
	wait  wait

	told   string        // the last reason sent to watchers, without its figures
	toldAt time.Duration // uptime
}

func sameShape(a, b offer.Shape) bool {
	return a.CPUs == b.CPUs && a.Memory == b.Memory && a.GPUs == b.GPUs && a.GPU.Memory == b.GPU.Memory && slices.Equal(a.GPU.Models, b.GPU.Models)
}

// enqueue readies a job for starting.
func (p *place) enqueue(j *job) {
	s := j.shape()
	i := slices.IndexFunc(p.queues, func(l *readyQueue) bool {
		return l.phase == j.spec.Phase && l.of == j.spec.StoppedAs() && sameShape(l.shape, s)
	})
	if i < 0 {
		i = len(p.queues)
		p.queues = append(p.queues, &readyQueue{phase: j.spec.Phase, of: j.spec.StoppedAs(), shape: s})
	}
	l := p.queues[i]
	l.cap = j.spec.Cap
	j.queue = l
	heap.Push(&l.jobs, j)
}

// first is the queue's next job; it drops jobs that no longer belong to it.
func (l *readyQueue) first() *job {
	for len(l.jobs) > 0 {
		if j := l.jobs[0]; j.queue == l && j.Status == offer.Queued && !j.Held {
			return j
		}
		heap.Pop(&l.jobs)
	}
	return nil
}

// turn is the order of the queue's first job; an empty queue comes last.
func (l *readyQueue) turn() int64 {
	if j := l.first(); j != nil {
		return j.order
	}
	return math.MaxInt64
}

// take removes the queue's first job.
func (l *readyQueue) take() {
	if len(l.jobs) > 0 {
		heap.Pop(&l.jobs).(*job).queue = nil
	}
}

type readyHeap []*job

func (h readyHeap) Len() int           { return len(h) }
func (h readyHeap) Less(a, b int) bool { return h[a].order < h[b].order }
func (h readyHeap) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *readyHeap) Push(x any)        { *h = append(*h, x.(*job)) }
func (h *readyHeap) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return j
}
