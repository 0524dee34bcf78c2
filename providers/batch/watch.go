package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Cadence. Records on the spool cost the scheduler nothing; the queue is asked for
// the rest, and accounting about jobs that left the queue without a record.
const (
	spoolLook  = 500 * time.Millisecond
	spoolCalm  = 2 * time.Second
	queueFloor = 15 * time.Second
	queueCalm  = 30 * time.Second // the floor when a watch has gone on for a while
	calmAfter  = 5 * time.Minute
	queueMost  = 5 * time.Minute
	queueShare = 20 // one part of the remaining time passes between two looks
	toldMost   = 500
)

// Watch reports the events of the campaign's jobs after a cursor.
func (s *Provider) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	w := &watch{s: s, b: b, c: b.campaign, began: time.Now(), handles: r.Handles}
	err = w.run(ctx, r, fn)
	var away *providers.Error
	if ctx.Err() != nil && errors.As(err, &away) {
		return ctx.Err() // a command that the end of the watch stopped says nothing of the scheduler
	}
	return err
}

func (w *watch) run(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	if err := w.start(ctx, r); err != nil {
		return err
	}
	for {
		bell, err := w.timedTurn(ctx, fn)
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

// hangs is how long a command of the scheduler's may run in a watch before a note
// says so.
const hangs = 10 * time.Second

// timedTurn takes a turn, and reports a command of the scheduler's that hangs in
// it.
func (w *watch) timedTurn(ctx context.Context, fn func(providers.Batch) error) (<-chan struct{}, error) {
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
			name, since := w.c.scheduler.Runs()
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

// spoolLook is the time between two looks at the spool, on a filesystem that the
// whole site shares.
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
	s       *Provider
	b       *backend
	c       *campaign
	began   time.Time
	next    time.Time // of a look at the queue
	at      int       // events told
	handles []string
	failed  error       // why the queue cannot be asked
	last    time.Time   // the last look
	ends    int         // of the campaign's jobs, then
	turns   atomic.Bool // a turn is under way, and what the scheduler is asked is asked by it
}

func (w *watch) start(ctx context.Context, r providers.WatchRequest) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.locate(ctx); err != nil {
		return err
	}
	c.accounting.watched, c.reports.log.Strict, c.accounting.rest = true, true, accountRest
	if w.s.options.Floor > 0 {
		c.accounting.rest = w.s.options.Floor
	}
	if err := c.load(); err != nil {
		return err
	}
	if r.Ack != "" && exists(c.spools.dir) {
		c.reports.log.Ack(r.Ack)
	}
	w.at = c.reports.log.From(r.Cursor)
	return nil
}

// turn reads new records and, when due, looks at the queue. A failed look is
// repeated later: nothing is concluded from silence, and a note says so.
func (w *watch) turn(ctx context.Context) (<-chan struct{}, error) {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	w.turns.Store(true)
	if err := c.launches.scan(); err != nil {
		return nil, err
	}
	w.bringForward()
	if now := time.Now(); !now.Before(w.next) {
		w.last, w.ends = now, c.reports.ends
		err := c.look(ctx)
		if err == nil && c.waiting() {
			w.s.submitPending(ctx, w.b)
		}
		if err == nil {
			err = c.releases.retry(ctx)
		}
		if err == nil {
			err = c.copies.drop(ctx)
		}
		if err == nil {
			err = c.limits.restore(ctx, c.queue.rows)
		}
		if err == nil {
			err = c.limits.balance(ctx)
		}
		w.next = time.Now().Add(w.interval())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if (err != nil) != (w.failed != nil) {
			n := providers.Note{Kind: "reachable", Text: c.queue.Words().Name + " answers again"}
			if err != nil {
				n = providers.Note{Kind: "unreachable", Text: err.Error()}
			}
			if err := c.reports.note(n); err != nil {
				return nil, err
			}
		}
		w.failed = err
	}
	err := c.launches.settle(ctx)
	return c.reports.log.Bell(), err
}

// roomLooks is how many floors after a job has ended the next look gives its place
// to waiting jobs.
const roomLooks = 2

// bringForward brings the next look forward when a job has ended and others wait
// for its place, or for their turns in a pack that is over.
func (w *watch) bringForward() {
	if w.c.reports.ends == w.ends || !w.c.waiting() && !w.c.jobs.idle() {
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

// interval is the time to the next look: a share of the longest time that is left
// to a job.
func (w *watch) interval() time.Duration {
	floor := w.floor()
	if w.c.jobs.idle() {
		return floor
	}
	left := time.Duration(0)
	for _, j := range w.c.jobs.unfinished() {
		if !j.absentSince.IsZero() {
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

// tell passes new events on, and reports whether there may be more.
func (w *watch) tell(fn func(providers.Batch) error) (more bool, err error) {
	c := w.c
	c.mu.Lock()
	all := c.reports.log.All()
	end := min(len(all), w.at+toldMost)
	batch := providers.Batch{Cursor: strconv.Itoa(end)}
	for _, t := range all[w.at:end] {
		switch {
		case t.Note != nil && c.launches.outdated(t.Note):
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
	j := w.c.jobs.byToken[o.Token]
	return j != nil && slices.Contains(w.handles, w.c.jobs.handle(j))
}
