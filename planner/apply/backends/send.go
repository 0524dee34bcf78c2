package backends

import (
	"errors"
	"time"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
)

// submissions submit minted jobs.
type submissions struct {
	*core
	control *control
	lookups *lookups
	outbox  *outbox
}

const (
	batchMax   = 500              // jobs of one Submit call
	slowSubmit = 10 * time.Second // after this a submission that has no answer is said
)

// Send submits minted jobs. It is called only when all intents are durable. Backends are told
// first whether all is held: a hold of an earlier run may still be in their queues. It returns
// the time at which a waiting job may be sent.
func (ss *submissions) Send(held bool) (wake time.Time) {
	for _, b := range ss.Queues {
		if b.Calling() || len(b.outbox) == 0 || b.Provider == nil {
			continue
		}
		if ss.Time.Now().Before(b.quiet) {
			wake = earliest(wake, b.quiet)
			continue
		}
		ss.control.Tell(b, held)
		n := min(len(b.outbox), batchMax)
		if b.Can.Arrays {
			n = len(b.outbox) // like jobs are one array, and the whole DAG is in before its roots start
		}
		batch := b.outbox[:n:n]
		b.outbox = append([]*Attempt(nil), b.outbox[n:]...)
		ss.submit(b, batch)
	}
	return wake
}

func (ss *submissions) submit(b *Backend, batch []*Attempt) {
	r := providers.SubmitRequest{Backend: b.Name, Fence: ss.Fence, Holder: ss.Holder, Batch: batch[0].Token, Jobs: make([]providers.Job, len(batch))}
	for i, f := range batch {
		r.Jobs[i] = *f.Job
	}
	b.caughtUp = false
	var res []providers.Submitted
	var err error
	b.Call(func() {
		defer ss.outbox.slow(b, len(batch))()
		res, err = b.Provider.Submit(ss.Ctx, r)
	}, func() { ss.submitted(b, batch, res, err) })
}

// submitted folds the answer to a Submit call.
func (ss *submissions) submitted(b *Backend, batch []*Attempt, res []providers.Submitted, err error) {
	if err == nil && len(res) != len(batch) {
		err = providers.Errorf(providers.Internal, "backend.%s answered for %d of %d jobs", b.Name, len(res), len(batch))
	}
	if err != nil {
		ss.submitFailed(b, batch, err)
		return
	}
	var unsure []*Attempt // whose submission did not finish
	var why error
	for i, f := range batch {
		switch pe := res[i].Err; {
		case !ss.inFlight(f): // already over: its watch was faster
		case pe == nil:
			ss.outbox.accepted(f, res[i])
		case pe.Class == providers.Unreachable || pe.Class == providers.Internal:
			unsure, why = append(unsure, f), pe
		default:
			ss.outbox.rejected(f, pe)
		}
	}
	if len(unsure) > 0 {
		ss.submitFailed(b, unsure, why)
		return
	}
	ss.Reachable(b)
	b.tries = 0
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// submitFailed is for a call as a whole. Whether its jobs arrived is not
// known, so they are looked for before they are sent again.
func (ss *submissions) submitFailed(b *Backend, batch []*Attempt, err error) {
	switch connection.ClassOf(err) {
	case "":
		return // the run is over
	case providers.StaleFence:
		ss.Hear(Overtaken{b, err})
		return
	case providers.Auth, providers.Quota, providers.Invalid, providers.NotFound:
		var pe *providers.Error
		errors.As(err, &pe)
		for _, f := range batch {
			ss.outbox.rejected(f, pe)
		}
		return
	}
	for _, f := range batch {
		f.Unsent = err.Error()
	}
	ss.outbox.failed(b, err)
	b.quiet = ss.Time.Now().Add(connection.Pause(b.tries, err))
	ss.Later(connection.Pause(b.tries, err), func() { ss.lookups.lookFor(b, batch) })
}
