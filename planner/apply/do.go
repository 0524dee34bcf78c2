package apply

import (
	"context"
	"errors"
	"time"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
)

const (
	doEnds = 2 * time.Minute // for cancelled jobs to end; they end without us, too
)

// Do carries out a request when no apply runs: its caller holds the lease. It
// starts nothing, and first looks up our jobs on the backends.
func Do(ctx context.Context, c Config, r request.Request) (request.Answer, error) {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return request.Answer{}, err
	}
	if err := e.until(ctx, doEnds, func() bool { return e.backends.Unanswered == 0 && !e.sending() }); err != nil {
		return request.Answer{}, err
	}
	got := make(chan request.Answer, 1)
	e.requests.handle(r, got)
	a := <-got
	err = e.until(ctx, doEnds, func() bool { return !e.sending() && e.backends.EndingThere() == 0 })
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // they end without muster, too
	}
	switch { // some queues may not have taken it
	case a.Error != "":
	case r.Verb == request.Hold:
		e.requests.held(r, &a)
	case r.Verb == request.Resume:
		e.requests.unreleased(r, &a)
	case r.Verb == request.Cancel:
		e.requests.cancelled(r, &a, true)
	}
	if err == nil && !e.Sync() {
		err = e.err
	}
	return a, err
}

// quiet is an engine that starts nothing and cancels nothing by itself. It looks up our jobs
// on backends; call the returned function at the end.
func quiet(ctx context.Context, c Config) (*engine, func(), error) {
	c.Mode, c.Requests = Once, ""
	e := newEngine(ctx, c)
	e.quiet, e.halted, e.approval = true, progress.Hold, c.Plan.ID
	e.report.Begin()
	e.loadPhases()
	if err := e.loadBackends(); err != nil {
		return e, e.Close, err
	}
	e.rows.readdress()
	e.machines()
	e.holds.load()
	e.accounts.load()
	e.loadAttempts()
	e.endNone() // nobody asked here for the plan's cancels
	e.loadCells()
	e.gates.load()
	e.breakers.load()
	e.endNone() // nor the successors of failed jobs
	e.backends.Recover(func() bool { return false })
	return e, e.Close, nil
}

func (e *engine) endNone() {
	for _, f := range e.attempts {
		f.EndAs(backends.Stays)
	}
}

// until handles events until done, at most for limit.
func (e *engine) until(ctx context.Context, limit time.Duration, done func() bool) error {
	t, stop := e.Time.Timer(limit)
	defer stop()
	for e.err == nil && !done() {
		if e.Take(t, ctx.Done(), nil) {
			return context.DeadlineExceeded
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return e.err
}
