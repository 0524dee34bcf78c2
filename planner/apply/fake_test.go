package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A world is the memory of a fake backend, whatever happens to the engine: the
// record with which the state has to agree.
type world struct {
	mu     sync.Mutex
	can    offer.Capabilities
	slots  int
	pack   int           // jobs that share a node; 0 = none do
	long   time.Duration // an allocation in which jobs take turns; 0 = they take none
	price  offer.Price
	prices map[string]offer.Price // by backend, where it is another
	boot   time.Duration
	jobs   map[string]*fakeJob
	order  []string
	events []offer.Observation
	notes  []providers.Note // to be told once
	bell   chan struct{}
	fence  uint64
	hold   bool
	starts map[string]int // token/launch → how often it started
	runs   map[string]int // address → launches
	most   int            // most jobs running at once
	onces  map[string]int // address + result hash → completions
	logs   []string
	stall  bool // nothing is started
	// cancels is asked at each cancel, nil = always well.
	cancels func() error
	waits   bool   // a launch that failed is made again when it is let go
	full    string // why its volume takes nothing more
	reject  func(providers.Job) *providers.Error
	// result says how a launch ends; nil = exit 0.
	result   func(j providers.Job, launch int) jobResult
	lists    map[string][]string
	unlisted int                  // how often files are asked for in vain
	mtimes   map[string]time.Time // of listed files
	ended    []string             // handles of second jobs that were cancelled
	walltime time.Duration        // longest of the pool
	longest  time.Duration        // of jobs such as ours, where it is another
	broken   map[string]bool      // outputs that do not verify, by path
	rentals  [][]offer.Rental     // answers, one after another; the last for good
	released []string             // machines that were to be given back
	lingers  string               // what is said of one that is there still
}

// Release gives a machine back as the world says.
func (f *fake) Release(_ context.Context, _ string, ids []string) (out []providers.Outcome, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.released = append(f.released, id)
		o := providers.Outcome{ID: id, What: "released"}
		if f.lingers != "" {
			o.Err = providers.Errorf(providers.Conflict, "%s", f.lingers)
		}
		out = append(out, o)
	}
	return out, f.op()
}

// Rentals are the machines that the world rents; this machine rents none.
func (f *fake) Rentals(_ context.Context, backend string) ([]offer.Rental, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rentals) == 0 || backend == "local.local" {
		return nil, f.op()
	}
	list := f.rentals[0]
	if len(f.rentals) > 1 {
		f.rentals = f.rentals[1:]
	}
	return list, f.op()
}

type jobResult struct {
	cores   int // that its launch is given; 0 = those that it asks for
	exit    int
	class   string
	tail    string
	metrics map[string]string
	takes   time.Duration
	hang    bool          // runs until it is cancelled
	cancel  bool          // is cancelled from outside
	lasted  time.Duration // what it says that it took; 0 = as long as it did
	billed  string        // what it says that it was charged
	set     time.Duration // by how much its host's clock was set meanwhile; nothing is measured then
}

type fakeJob struct {
	providers.Job
	status offer.Status
	launch int
	seen   offer.Observation
	held   bool
	began  time.Time
	res    jobResult
	gone   bool
}

func newWorld() *world {
	return &world{jobs: map[string]*fakeJob{}, bell: make(chan struct{}), starts: map[string]int{}, runs: map[string]int{}, onces: map[string]int{},
		slots: 4, can: offer.Capabilities{Holds: true, HostQueue: true, Dependencies: true, Retries: true, FeedSlots: 2, Events: true}}
}

// step starts what may start and ends what is over; the caller holds mu.
func (w *world) step() {
	for changed := true; changed; {
		changed = false
		running := 0
		for _, t := range w.order {
			if w.jobs[t].status == offer.Running {
				running++
			}
		}
		for _, t := range w.order {
			j := w.jobs[t]
			switch {
			case j.status == offer.Queued && running < w.slots && !w.stall && !w.hold && !j.held && w.afterDone(j):
				w.begin(j)
				running++
				w.most = max(w.most, running)
				changed = true
			case j.status == offer.Running && !j.res.hang && time.Since(j.began) >= j.res.takes:
				w.end(j)
				running--
				changed = true
			}
		}
	}
}

// until waits until something holds of the world; the test's own time limit is
// the bound.
func (w *world) until(holds func() bool) {
	for ; ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		ok := holds()
		w.mu.Unlock()
		if ok {
			return
		}
	}
}

func (w *world) afterDone(j *fakeJob) bool {
	for _, t := range j.After {
		if u := w.jobs[t]; u == nil || u.status != offer.Completed {
			return false
		}
	}
	return true
}

func (w *world) begin(j *fakeJob) {
	j.status, j.began = offer.Running, time.Now()
	w.starts[j.Token+"/"+strconv.Itoa(j.launch)]++
	w.runs[j.Address]++
	w.logs = append(w.logs, j.Address)
	if w.result != nil {
		j.res = w.result(j.Job, j.launch)
	}
	w.tell(offer.Observation{Token: j.Token, Presence: offer.Found, Handle: j.Token, Status: offer.Running, Attempt: j.launch, Started: j.began})
}

func (w *world) end(j *fakeJob) {
	exit := j.res.exit
	now := time.Now()
	o := offer.Observation{Token: j.Token, Presence: offer.Found, Handle: j.Token, Attempt: j.launch, Started: j.began, Ended: now, Exit: &exit,
		Usage: &offer.Usage{Elapsed: now.Sub(j.began), CPU: -1, MaxRSS: -1, Billed: j.res.billed}}
	if j.res.lasted > 0 {
		o.Usage.Elapsed = j.res.lasted
	}
	if got := j.Shape; j.res.cores > 0 {
		got.CPUs = j.res.cores
		o.Got = &got
	}
	if j.res.set != 0 {
		o.Usage, o.Ended = nil, now.Add(j.res.set)
	}
	switch {
	case j.res.cancel:
		o.Status = offer.Cancelled
	case j.res.exit == 0 && j.res.class == "":
		o.Status = offer.Completed
		w.onces[j.Address+" "+j.ResultHash+" "+strconv.FormatBool(j.Smoke)]++
		for _, out := range j.Outputs {
			o.Outputs = append(o.Outputs, offer.Output{Name: out.Name, Path: out.Path, Size: 1, Digest: fakeDigest(out.Path), OK: true})
		}
		if len(j.res.metrics) > 0 {
			o.Metrics = map[string]offer.Metric{}
			for k, v := range j.res.metrics {
				o.Metrics[k] = offer.Metric{Text: v}
			}
		}
	default:
		o.Status, o.Class, o.Tail = offer.Failed, j.res.class, []string{j.res.tail}
		if w.can.HostQueue && j.launch < j.Retry.Max && slices.ContainsFunc(j.Retry.On, func(on string) bool { return failure.Is(j.res.class, on) }) {
			o.Status = offer.Waiting
			w.tell(o)
			j.status = offer.Queued
			j.launch++
			j.held, j.began, j.res = w.waits, time.Time{}, jobResult{}
			return
		}
	}
	j.status = o.Status
	j.seen = o
	w.tell(o)
}

func fakeDigest(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (w *world) tell(o offer.Observation) {
	w.events = append(w.events, o)
	close(w.bell)
	w.bell = make(chan struct{})
}

// A fake is one process's way to the world. A dead one does nothing more.
type fake struct {
	*world
	alive func() error // counts steps; an error is the process's death
}

func (f *fake) op() error {
	if f.alive == nil {
		return nil
	}
	return f.alive()
}

func (f *fake) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: "local", Can: f.can}, f.op()
}
func (f *fake) Configure(context.Context, providers.Backend) error { return f.op() }
func (f *fake) Pools(_ context.Context, b string) ([]offer.Pool, error) {
	p := offer.Pool{Backend: b, CPUs: 64, Memory: 1 << 40, MaxJobs: f.slots, Total: f.slots, Idle: f.slots, MaxTime: f.walltime, Wait: 0, Price: f.poolPrice(b)}
	if f.pack > 0 {
		p.CPUs, p.WholeNode, p.Pack, p.MaxJobs, p.Allocation = f.pack, true, true, 0, f.long
	}
	return []offer.Pool{p}, f.op()
}
func (f *fake) poolPrice(b string) offer.Price {
	p, ok := f.prices[b]
	if !ok {
		p = f.price
	}
	p.Known = true
	return p
}
func (f *fake) Quote(_ context.Context, b string, shapes []offer.Shape) (out []offer.Quote, err error) {
	for i := range shapes {
		out = append(out, offer.Quote{Backend: b, Shape: i, Fits: true, Price: f.poolPrice(b), Boot: f.boot, MaxTime: f.longest})
	}
	return out, f.op()
}
func (f *fake) Preflight(context.Context, string, []providers.Check) ([]providers.Finding, error) {
	f.mu.Lock()
	full := f.full
	f.mu.Unlock()
	if full == "" {
		return nil, f.op()
	}
	return []providers.Finding{{Warning: true, Pauses: true, Summary: "no room", Detail: full}}, f.op()
}

func (f *fake) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	if r.Fence < f.fence {
		f.mu.Unlock()
		return nil, providers.Errorf(providers.StaleFence, "fence %d is smaller than %d", r.Fence, f.fence)
	}
	f.fence = r.Fence
	out := make([]providers.Submitted, len(r.Jobs))
	for i, j := range r.Jobs {
		out[i] = providers.Submitted{Token: j.Token, Handle: j.Token}
		if old := f.jobs[j.Token]; old != nil {
			a, _ := json.Marshal(old.Job)
			b, _ := json.Marshal(j)
			if string(a) != string(b) {
				out[i].Err = providers.Errorf(providers.Conflict, "token %s is known with another specification", j.Token)
			}
			continue
		}
		if f.reject != nil {
			if out[i].Err = f.reject(j); out[i].Err != nil {
				continue
			}
		}
		f.jobs[j.Token] = &fakeJob{Job: j, status: offer.Queued, launch: max(j.Attempt, 1)}
		f.order = append(f.order, j.Token)
	}
	f.step()
	f.mu.Unlock()
	return out, f.op()
}

func (f *fake) Find(_ context.Context, _ string, tokens []string) ([]offer.Observation, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step()
	var out []offer.Observation
	for _, t := range tokens {
		j := f.jobs[t]
		switch {
		case j == nil || j.gone:
			out = append(out, offer.Observation{Token: t, Presence: offer.Absent})
		case j.seen.Status != "":
			out = append(out, j.seen)
		default:
			o := offer.Observation{Token: t, Presence: offer.Found, Handle: t, Status: j.status, Attempt: j.launch, Started: j.began}
			if j.held && j.status == offer.Queued {
				o.Reason, o.Cause = "held", offer.JobHeld
			}
			out = append(out, o)
		}
	}
	return out, nil
}

func (f *fake) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	at, _ := strconv.Atoi(r.Cursor)
	for {
		if err := f.op(); err != nil {
			return err
		}
		f.mu.Lock()
		f.step()
		bell := f.bell
		events := slices.Clone(f.events[min(at, len(f.events)):])
		notes := f.notes
		f.notes = nil
		f.mu.Unlock()
		if len(events)+len(notes) > 0 {
			at += len(events)
			if err := fn(providers.Batch{Cursor: strconv.Itoa(at), Events: events, Notes: notes}); err != nil {
				return err
			}
			continue
		}
		select {
		case <-bell:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) Cancel(_ context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	if f.cancels != nil {
		if err := f.cancels(); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Fence < f.fence {
		return nil, providers.Errorf(providers.StaleFence, "fence %d is smaller than %d", r.Fence, f.fence)
	}
	f.ended = append(f.ended, r.Handles...)
	var out []providers.Outcome
	for _, t := range r.Tokens {
		j := f.jobs[t]
		switch {
		case j == nil:
			out = append(out, providers.Outcome{ID: t, What: "not found"})
		case j.status == offer.Completed || j.status == offer.Failed || j.status == offer.Cancelled:
			out = append(out, providers.Outcome{ID: t, What: "ended already"})
		default:
			j.status = offer.Cancelled
			j.seen = offer.Observation{Token: t, Presence: offer.Found, Handle: t, Status: offer.Cancelled, Attempt: j.launch, Started: j.began, Ended: time.Now()}
			if j.res.lasted > 0 {
				j.seen.Usage = &offer.Usage{Elapsed: j.res.lasted, CPU: -1, MaxRSS: -1}
			}
			f.tell(j.seen)
			out = append(out, providers.Outcome{ID: t, What: "cancelled"})
		}
	}
	f.step()
	return out, nil
}

func (f *fake) Control(_ context.Context, r providers.ControlRequest) error {
	if err := f.op(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Hold != nil && len(r.Tokens) == 0 {
		f.hold = *r.Hold
	}
	for _, t := range r.Tokens {
		if j := f.jobs[t]; j != nil {
			if j.held = *r.Hold; !j.held && j.status == offer.Queued && f.reject != nil {
				f.reject(j.Job) // it is let go at the price of now
			}
		}
	}
	f.step()
	return nil
}

func (f *fake) Logs(context.Context, providers.LogRequest, io.Writer) error { return f.op() }

func (f *fake) Verify(_ context.Context, r providers.VerifyRequest) (out []offer.Output, err error) {
	for _, o := range r.Outputs {
		out = append(out, offer.Output{Name: o.Name, Path: o.Path, Size: 1, Digest: fakeDigest(o.Path), OK: !f.broken[o.Path], Verdict: "empty"})
	}
	return out, f.op()
}
func (f *fake) Push(_ context.Context, _, path string, size int64, digest string, r io.ReadSeeker) error {
	n, err := io.Copy(io.Discard, r)
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes", n, size)
	}
	return errors.Join(err, f.op())
}
func (f *fake) Pull(_ context.Context, _, _ string, offset int64, w io.Writer) error {
	if offset == 0 {
		_, err := w.Write([]byte("x"))
		return errors.Join(err, f.op())
	}
	return f.op()
}
func (f *fake) List(_ context.Context, _ string, patterns []string) (out []providers.FileInfo, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unlisted--; f.unlisted >= 0 {
		return nil, context.DeadlineExceeded
	}
	for _, p := range patterns {
		for _, l := range f.lists[p] {
			out = append(out, providers.FileInfo{Path: l, Size: 1, MTime: f.mtimes[l].UnixNano()})
		}
	}
	return out, f.op()
}
func (f *fake) Remove(context.Context, providers.RemoveRequest) error { return f.op() }

var _ providers.Provider = (*fake)(nil)
