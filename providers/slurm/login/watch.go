package login

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Cadence. What jobs write down themselves is seen on the spool, which costs
// Slurm nothing; the queue is asked for the rest, and accounting for what left
// the queue without a word.
const (
	spoolLook  = 500 * time.Millisecond
	spoolCalm  = 2 * time.Second
	queueFloor = 15 * time.Second
	queueCalm  = 30 * time.Second // the floor when a watch has gone on for a while
	calmAfter  = 5 * time.Minute
	queueMost  = 5 * time.Minute
	queueShare = 20 // of the time that is left, one part goes by between two looks
	toldMost   = 500
)

// Watch tells what happens to the campaign's jobs from the cursor on.
func (s *Slurm) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	w := &watch{s: s, b: b, c: b.campaign, began: time.Now(), handles: r.Handles}
	if err := w.start(r); err != nil {
		return err
	}
	for {
		bell, err := w.patiently(ctx, fn)
		if err != nil {
			return err
		}
		more, err := w.tell(fn)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-bell:
		case <-time.After(w.spoolLook()):
		}
	}
}

// hangs is how long a command of Slurm's may take in a watch before that is told.
const hangs = 10 * time.Second

// patiently takes a turn, and tells once when a command of Slurm's hangs in it.
func (w *watch) patiently(ctx context.Context, fn func(providers.Batch) error) (<-chan struct{}, error) {
	type result struct {
		bell <-chan struct{}
		err  error
	}
	done := make(chan result, 1)
	w.turns.Store(false)
	go func() {
		bell, err := w.turn(ctx)
		done <- result{bell, err}
	}()
	timer := time.NewTimer(hangs)
	defer timer.Stop()
	for {
		select {
		case r := <-done:
			return r.bell, r.err
		case <-timer.C:
			name, since := w.c.cluster.Runs()
			if left := hangs - time.Since(since); name == "" || !w.turns.Load() || left > 0 {
				timer.Reset(max(left, time.Second))
				continue
			}
			text := fmt.Sprintf("%s has not answered for %s; muster waits for it", name, units.FormatDuration(hangs))
			if err := fn(providers.Batch{Cursor: strconv.Itoa(w.at), Notes: []providers.Note{{Kind: "slow", Text: text}}}); err != nil {
				r := <-done
				return r.bell, cmp.Or(r.err, err)
			}
		}
	}
}

// spoolLook is how long the spool is left alone: it lies on a filesystem that
// a whole site shares.
func (w *watch) spoolLook() time.Duration {
	look := spoolLook
	if time.Since(w.began) > calmAfter {
		look = spoolCalm
	}
	if floor := w.s.options.Floor; floor > 0 {
		look = min(look, floor)
	}
	return look
}

type watch struct {
	s       *Slurm
	b       *backend
	c       *campaign
	began   time.Time
	next    time.Time // of a look at the queue
	at      int       // events told
	handles []string
	failed  error       // why the queue cannot be asked
	last    time.Time   // the last look
	ends    int         // of the campaign's jobs, then
	turns   atomic.Bool // a turn is under way, and what Slurm is asked is asked by it
}

func (w *watch) start(r providers.WatchRequest) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched, c.log.Strict, c.rest = true, true, accountRest
	if w.s.options.Floor > 0 {
		c.rest = w.s.options.Floor
	}
	if err := c.load(); err != nil {
		return err
	}
	if r.Ack != "" && exists(c.spool) {
		c.log.Ack(r.Ack)
	}
	w.at = c.log.From(r.Cursor)
	return nil
}

// turn looks at what may have happened. What the queue cannot be asked now is
// asked later: nothing is concluded from silence, but it is told.
func (w *watch) turn(ctx context.Context) (<-chan struct{}, error) {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	w.turns.Store(true)
	if err := c.scan(); err != nil {
		return nil, err
	}
	w.hurry()
	if now := time.Now(); !now.Before(w.next) {
		w.last, w.ends = now, c.ends
		err := c.look(ctx)
		if err == nil && c.waiting() {
			w.s.handOver(ctx, w.b)
		}
		if err == nil {
			err = c.relaunch(ctx)
		}
		if err == nil {
			err = c.dropCopies(ctx)
		}
		if err == nil {
			err = c.heed(ctx, c.rows)
		}
		if err == nil {
			err = c.balance(ctx)
		}
		w.next = time.Now().Add(w.interval())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if (err != nil) != (w.failed != nil) {
			n := providers.Note{Kind: "reachable", Text: "Slurm answers again"}
			if err != nil {
				n = providers.Note{Kind: "unreachable", Text: err.Error()}
			}
			if err := c.note(n); err != nil {
				return nil, err
			}
		}
		w.failed = err
	}
	err := c.settle(ctx)
	return c.log.Bell(), err
}

// roomLooks is how many times the floor goes by before room that a job has left
// is given to those that wait for it.
const roomLooks = 2

// hurry brings the next look forward where a job has ended and others wait on
// the spool for its place.
func (w *watch) hurry() {
	if w.c.ends == w.ends || !w.c.waiting() {
		return
	}
	if soon := w.last.Add(roomLooks * w.floor()); soon.Before(w.next) {
		w.next = soon
	}
}

// floor is the least time between two looks.
func (w *watch) floor() time.Duration {
	switch {
	case w.s.options.Floor > 0:
		return w.s.options.Floor
	case time.Since(w.began) > calmAfter:
		return queueCalm
	}
	return queueFloor
}

// waiting reports whether a batch has yet to be handed over.
func (c *campaign) waiting() bool {
	return slices.ContainsFunc(c.batches, func(k *batch) bool { return (k.id == "" || k.held != "" && !c.held) && !k.over() })
}

// interval is how long the queue is left alone: a part of the time that is
// left to the jobs there.
func (w *watch) interval() time.Duration {
	floor := w.floor()
	left := time.Duration(0)
	for _, j := range w.c.unfinished() {
		if !j.asked.IsZero() {
			return floor
		}
		rest := j.walltime
		if j.last.Status == offer.Running && !j.last.Started.IsZero() {
			rest -= time.Since(j.last.Started)
		}
		left = max(left, rest)
	}
	return min(max(left/queueShare, floor), max(queueMost, floor))
}

// tell hands on what has not been told, and says whether there may be more.
func (w *watch) tell(fn func(providers.Batch) error) (more bool, err error) {
	c := w.c
	c.mu.Lock()
	all := c.log.All()
	end := min(len(all), w.at+toldMost)
	batch := providers.Batch{Cursor: strconv.Itoa(end)}
	for _, t := range all[w.at:end] {
		switch {
		case t.Note != nil:
			batch.Notes = append(batch.Notes, *t.Note)
		case w.wanted(t.Seen):
			batch.Events = append(batch.Events, t.Seen)
		}
	}
	more = end < len(all)
	moved := end > w.at
	c.mu.Unlock()
	if !moved {
		return false, nil
	}
	if len(batch.Events)+len(batch.Notes) > 0 {
		if err := fn(batch); err != nil {
			return false, err
		}
	}
	w.at = end
	return more, nil
}

func (w *watch) wanted(o offer.Observation) bool {
	if len(w.handles) == 0 || slices.Contains(w.handles, o.Handle) {
		return true
	}
	j := w.c.jobs[o.Token]
	return j != nil && slices.Contains(w.handles, j.elementID())
}
