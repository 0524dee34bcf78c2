package apply

import (
	"context"
	"time"

	"github.com/muster-run/muster/planner/apply/request"
)

// requestPatience is how long a request waits for jobs it ends and for queues
// it tells: a polite end, a hard one, and time to say so.
const requestPatience = 45 * time.Second

// Do does what a request asks while no apply runs: it takes what the state
// knows, tells the backends, starts nothing, and returns when jobs that were
// to be ended have ended, or after requestPatience.
func Do(ctx context.Context, c Config, r request.Request) (request.Answer, error) {
	c.Requests = ""
	e := newEngine(c)
	e.ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() { e.stop(); e.drainUntilGone() }()
	e.halt(Hold, "a request is served, nothing is started")
	e.report.begin(e)
	if err := e.openForRequest(); err != nil {
		return request.Answer{}, err
	}
	got := make(chan request.Answer, 1)
	e.handle(r, got)
	answer := <-got
	e.seeThrough(ctx)
	if e.sync() {
		e.acknowledge()
	}
	return answer, e.err
}

// openForRequest is open without what a plan asks for.
func (e *engine) openForRequest() error {
	e.begun()
	e.loadPhases()
	if err := e.loadBackends(); err != nil {
		return err
	}
	e.loadHolds()
	e.loadBudgets()
	e.loadFlights()
	e.loadCells()
	e.loadGates()
	e.loadBreakers()
	e.recover()
	return e.err
}

// seeThrough runs the loop until nothing is left to send or to end.
func (e *engine) seeThrough(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	for e.err == nil && (e.recovered > 0 || e.sending() || e.ending()) {
		if e.commit() {
			e.send()
		}
		if !e.wait(ctx) {
			return
		}
	}
}

// ending reports whether a job that was to be ended is still there.
func (e *engine) ending() bool {
	for _, f := range e.flights {
		if f.end != endNot && f.b.p != nil {
			return true
		}
	}
	return false
}
