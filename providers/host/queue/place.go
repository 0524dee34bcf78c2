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
	machine.Place
	n        int
	digest   uint64
	lanes    []*lane
	running  int
	checking int            // attempts that are examined, or wait for that
	checks   chan struct{}  // holds one for each that is examined now
	phases   map[string]int // running jobs by phase
	rules    rules
	breakers map[string]*breaker.Count
	volume   volume
	events   []event // not yet acknowledged
	acked    uint64
	stalled  time.Duration // uptime when watchers were last told that the spool is full
}

// An event is what a watcher is told, by number.
type event struct {
	seq  uint64
	obs  offer.Observation
	note *providers.Note
}

func key(p machine.Place) string { return p.Lineage + "/" + p.Backend }

func digest(p machine.Place) uint64 {
	b, _ := json.Marshal(p)
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// at finds a place, or takes it in; what a newer client says of it counts.
func (q *queue) at(p machine.Place) *place {
	d := digest(p)
	pl := q.places[key(p)]
	if pl == nil {
		pl = &place{n: len(q.byN), checks: make(chan struct{}, maxChecks), phases: map[string]int{}, breakers: map[string]*breaker.Count{}}
		q.places[key(p)] = pl
		q.byN = append(q.byN, pl)
	} else if pl.digest == d {
		return pl
	}
	pl.Place, pl.digest = p, d
	q.put(entry{Place: &placeEntry{N: pl.n, Place: p}})
	return pl
}

// A lane holds the ready jobs of a place that ask for the same: if its first
// does not fit, none does.
type lane struct {
	phase string
	shape offer.Shape
	cap   int
	ready readyHeap
	since int64 // uptime in ns since its first job has not fitted; 0 = it has
	wait  wait

	told   string        // what watchers were told of it last, less its figures
	toldAt time.Duration // uptime
}

func sameShape(a, b offer.Shape) bool {
	return a.CPUs == b.CPUs && a.Memory == b.Memory && a.GPUs == b.GPUs && a.GPU.Memory == b.GPU.Memory && slices.Equal(a.GPU.Models, b.GPU.Models)
}

// line readies a job for starting.
func (p *place) line(j *job) {
	s := j.shape()
	i := slices.IndexFunc(p.lanes, func(l *lane) bool { return l.phase == j.spec.Phase && sameShape(l.shape, s) })
	if i < 0 {
		i = len(p.lanes)
		p.lanes = append(p.lanes, &lane{phase: j.spec.Phase, shape: s})
	}
	l := p.lanes[i]
	l.cap = j.spec.Cap
	j.lane = l
	heap.Push(&l.ready, j)
}

// first is the lane's next job; those that have left it are dropped.
func (l *lane) first() *job {
	for len(l.ready) > 0 {
		if j := l.ready[0]; j.lane == l && j.Status == offer.Queued && !j.Held {
			return j
		}
		heap.Pop(&l.ready)
	}
	return nil
}

// turn is the order of the lane's first job; a lane without one comes last.
func (l *lane) turn() int64 {
	if j := l.first(); j != nil {
		return j.order
	}
	return math.MaxInt64
}

// take removes the lane's first job.
func (l *lane) take() {
	if len(l.ready) > 0 {
		heap.Pop(&l.ready).(*job).lane = nil
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
