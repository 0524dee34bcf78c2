package sim

import (
	"container/heap"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A world is one simulated backend: its queue, its jobs and what it tells.
//
//	submitted ──after──▶ waits its turn ──wait──▶ in line ──room──▶ running ──end──▶ ended
//	                          ▲                                        │
//	                          └──────────── delay ◀── retried ◀────────┘
//
// It moves when it is asked or watched, to the time of its clock, through
// every instant at which something was due. The caller holds its lock.
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

// A job is one submission, through all its launches.
type job struct {
	providers.Job
	print   uint64 // of what was submitted
	status  offer.Status
	launch  int
	waits   int  // tokens it comes after that have not completed
	held    bool // by its token
	fate    Fate
	began   time.Time
	factor  float64 // of its price
	line    *line
	turn    int               // counts what was foreseen of it: older events are void
	seen    offer.Observation // how its last launch ended
	decided bool              // it ended for good
}

// A place is what a pool has left.
type place struct {
	Pool
	slots, devices, cores int
	bytes                 int64
	started               int
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

// The things that are due.
type what uint8

const (
	itsTurn what = iota // its wait is over
	itsEnd
	itsRetry
	anOutage // begins or ends
)

type due struct {
	at   time.Time
	seq  int
	what what
	job  *job
	turn int
}

type dues []due

func (h dues) Len() int { return len(h) }
func (h dues) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h dues) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dues) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dues) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return d
}

func newWorld(s Site, limit int) *world {
	w := &world{site: s, limit: limit, jobs: map[string]*job{}, pools: map[string]*place{}, byKey: map[lineKey]*line{}, after: map[string][]*job{},
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

// advance lets happen what was due until a time.
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
	print := fingerprint(&j)
	if old := w.jobs[j.Token]; old != nil {
		if old.print != print {
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
	n := &job{Job: j, print: print, status: offer.Queued, launch: max(j.Attempt, 1)}
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

// remember takes in what was there before: what runs goes on, whatever room
// there is now.
func (w *world) remember() {
	if !w.site.Epoch.IsZero() {
		w.begin(w.site.Epoch)
	}
	for _, p := range w.site.Present {
		j := &job{Job: p.Job, print: fingerprint(&p.Job), status: offer.Queued, launch: max(p.Job.Attempt, 1)}
		w.jobs[j.Token] = j
		if w.pools[j.Pool] == nil {
			continue // it will never start: its pool is gone
		}
		if !p.Running {
			w.queue(j)
			continue
		}
		j.fate = w.site.Model(&j.Job, j.launch)
		j.line = w.lineOf(j)
		w.start(j)
		at := j.line.at
		at.started-- // it was counted when it started
		if !p.Since.IsZero() {
			j.began = p.Since
			j.factor = w.factor(at, p.Nth, p.Since)
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

// queue begins a launch: it waits its turn.
func (w *world) queue(j *job) {
	j.status = offer.Queued
	j.fate = w.site.Model(&j.Job, j.launch)
	if left, ok := w.left[j.Address]; ok && j.Checkpoint.Path != "" {
		j.fate.Takes = left
		j.fate.After = min(j.fate.After, left)
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
	key := p.need(&j.Job)
	l := w.byKey[key]
	if l == nil {
		l = &line{at: p, key: key}
		w.byKey[key] = l
		w.lines = append(w.lines, l)
	}
	return l
}

// need is what a job takes of the pool: what the pool does not count is left
// out, so that jobs that differ in it stand in one line.
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

// fill starts what there is room for, in the order in which lines were made.
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

// start begins a launch's work, after its machine came up.
func (w *world) start(j *job) {
	p := j.line.at
	p.take(j.line.key, 1)
	p.started++
	w.running++
	w.byPhase[j.Phase]++
	j.status = offer.Running
	j.began = w.now.Add(p.Boot)
	j.factor = w.factor(p, p.started, w.now)
	w.tell(j, offer.Observation{Status: offer.Running, Started: j.began})
	w.foresee(j.began.Add(j.lasts()), itsEnd, j)
}

// factor is what the n-th launch on a pool is billed, which starts at a time,
// beside what it was quoted.
func (w *world) factor(p *place, n int, at time.Time) float64 {
	f := 1.0
	for _, c := range w.site.Prices {
		if c.Pool != "" && c.Pool != p.Name || at.Sub(w.epoch) < c.After || c.Launches != nil && !slices.Contains(c.Launches, n) {
			continue
		}
		f = c.Factor
	}
	return f
}

// lasts is how long a launch runs.
func (j *job) lasts() time.Duration {
	d := j.fate.Takes
	if j.fate.Class != "" {
		d = min(d, j.fate.After)
	}
	if limit := j.Shape.Walltime; limit > 0 {
		d = min(d, limit)
	}
	return max(d, 0)
}

// class is why a launch failed, "" if it did not.
func (j *job) class() string {
	limit := j.Shape.Walltime
	switch {
	case j.fate.Class != "" && (limit == 0 || j.fate.After <= limit):
		return j.fate.Class
	case limit > 0 && j.fate.Takes > limit:
		return failure.Walltime
	}
	return ""
}

// end ends a launch, well or not.
func (w *world) end(j *job) {
	w.free(j)
	class := j.class()
	o := j.over(w.now)
	if class == "" {
		zero := 0
		o.Status, o.Exit, o.Outputs, o.Metrics = offer.Completed, &zero, w.outputs(j), j.metrics()
		delete(w.left, j.Address)
		w.lay(j, o.Outputs)
		w.decide(j, o)
		for _, n := range w.after[j.Token] {
			if n.waits--; n.waits == 0 && !n.decided {
				w.queue(n)
			}
		}
		delete(w.after, j.Token)
		return
	}
	o.Status, o.Class = offer.Failed, class
	switch class {
	case failure.NodeFailure, failure.Preempted, failure.Walltime, failure.GPULost:
		o.Reason = "simulated"
	default:
		one := 1
		o.Exit, o.Tail = &one, []string{"simulated: " + class}
	}
	w.keep(j)
	if !w.retries(j, class) {
		w.decide(j, o)
		return
	}
	o.Status, o.Expected = offer.Waiting, w.now.Add(j.Retry.Delay)
	w.tell(j, o)
	j.grow(class)
	j.launch++
	j.status = offer.Waiting
	w.foresee(o.Expected, itsRetry, j)
}

// keep notes what a launch with a checkpoint leaves to be done.
func (w *world) keep(j *job) {
	if j.Checkpoint.Path == "" || j.Smoke {
		return
	}
	w.left[j.Address] = max(j.fate.Takes-w.now.Sub(j.began)+min(j.Checkpoint.Interval, w.now.Sub(j.began)), 0)
	w.touched[absolute(j.Workdir, j.Checkpoint.Path)] = w.now
}

// retries reports whether the site launches a job again by itself.
func (w *world) retries(j *job, class string) bool {
	return w.site.Can.Retries && !j.Smoke && j.launch < j.Retry.Max && (class != failure.Walltime || j.Checkpoint.Path != "") &&
		slices.ContainsFunc(j.Retry.On, func(on string) bool { return failure.Is(class, on) })
}

// grow gives the next launch more of what the policy says.
func (j *job) grow(class string) {
	for on, by := range j.Retry.Scale {
		if !failure.Is(class, on) {
			continue
		}
		times := func(v int, f float64) int {
			if f <= 0 {
				return v
			}
			return int(float64(v) * f)
		}
		j.Shape.CPUs, j.Shape.GPUs = times(j.Shape.CPUs, by.CPUs), times(j.Shape.GPUs, by.GPUs)
		j.Shape.Memory, j.Shape.Walltime = int64(times(int(j.Shape.Memory), by.Memory)), time.Duration(times(int(j.Shape.Walltime), by.Walltime))
	}
}

// free gives back what a running job took.
func (w *world) free(j *job) {
	j.line.at.take(j.line.key, -1)
	w.running--
	w.byPhase[j.Phase]--
}

// cancel ends a job that has not ended.
func (w *world) cancel(j *job) {
	o := offer.Observation{Status: offer.Cancelled}
	if j.status == offer.Running {
		w.free(j)
		o = j.over(w.now)
		o.Status = offer.Cancelled
	}
	w.decide(j, o)
}

// decide ends a job for good. Of what it was only its end is kept.
func (w *world) decide(j *job, o offer.Observation) {
	w.tell(j, o)
	j.status, j.decided, j.line = o.Status, true, nil
	j.turn++
	j.Job = providers.Job{Token: j.Token, Address: j.Address, Smoke: j.Smoke, Name: j.Name}
}

// tell notes what happened to a job, for those who watch.
func (w *world) tell(j *job, o offer.Observation) {
	o.Token, o.Presence, o.Handle, o.Attempt = j.Token, offer.Found, handle(j.Token), j.launch
	if o.Status == offer.Running || !o.Started.IsZero() {
		o.Pool, o.Node = j.Pool, j.Pool+"-1"
	}
	j.seen = o
	w.feed.add(o)
}

func handle(token string) string { return "sim-" + token[:min(8, len(token))] }

// over is what a launch used.
func (j *job) over(at time.Time) offer.Observation {
	d := max(at.Sub(j.began), 0)
	memory := j.fate.Memory
	if memory == 0 {
		memory = j.Shape.Memory / 2
	}
	if memory == 0 {
		memory = -1
	}
	u := offer.Usage{Elapsed: d, CPU: d * time.Duration(max(j.Shape.CPUs, 1)), MaxRSS: memory, GPUSeconds: d.Seconds() * float64(j.Shape.GPUs)}
	if j.factor != 1 {
		u.Billed = billed(j.line.at.Price, j.Shape, d, j.factor)
	}
	return offer.Observation{Started: j.began, Ended: at, Usage: &u}
}

func (j *job) metrics() map[string]offer.Metric {
	if len(j.Metrics) == 0 {
		return nil
	}
	out := make(map[string]offer.Metric, len(j.Metrics))
	for _, m := range j.Metrics {
		text, ok := j.fate.Metrics[m.Name]
		if !ok {
			text = "1"
		}
		out[m.Name] = offer.Metric{Text: text}
	}
	return out
}

func fingerprint(j *providers.Job) uint64 {
	return uint64(Uniform(0, append([]string{j.Address, j.Phase, j.Pool, j.Workdir, j.Shell, j.ResultHash, strconv.Itoa(j.Attempt)}, j.Argv...)...) * (1 << 53))
}
