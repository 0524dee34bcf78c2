package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	batchMax   = 500              // jobs of one Submit call
	slowSubmit = 10 * time.Second // after this a submission that has no answer is said
)

// Mint puts a flight into the outbox of its backend.
func (fl *Fleet) Mint(f *Flight) {
	fl.move(f, cells.Submitting)
	f.B.outbox = append(f.B.outbox, f)
}

// Send hands over what was minted. It is called only when all intents are
// durable. Backends are told first whether all is held: a hold of an earlier run
// may still be in their queues. It returns when something may be sent that
// waits for a time.
func (fl *Fleet) Send(held bool) (wake time.Time) {
	for _, b := range fl.Queues {
		if b.Calling() || len(b.outbox) == 0 || b.Provider == nil {
			continue
		}
		if fl.Time.Now().Before(b.quiet) {
			wake = earliest(wake, b.quiet)
			continue
		}
		fl.Tell(b, held)
		n := min(len(b.outbox), batchMax)
		if b.Can.Arrays {
			n = len(b.outbox) // like jobs are one array, and the whole DAG is in before its roots start
		}
		batch := b.outbox[:n:n]
		b.outbox = append([]*Flight(nil), b.outbox[n:]...)
		fl.submit(b, batch)
	}
	return wake
}

func (fl *Fleet) submit(b *Backend, batch []*Flight) {
	r := providers.SubmitRequest{Backend: b.Name, Fence: fl.Fence, Holder: fl.Holder, Batch: batch[0].Token, Jobs: make([]providers.Job, len(batch))}
	for i, f := range batch {
		r.Jobs[i] = *f.Job
	}
	var res []providers.Submitted
	var err error
	b.Call(func() {
		defer fl.slow(b, len(batch))()
		res, err = b.Provider.Submit(fl.Ctx, r)
	}, func() { fl.submitted(b, batch, res, err) })
}

// slow says that a submission takes long; the returned function ends it.
func (fl *Fleet) slow(b *Backend, jobs int) func() {
	if clock.IsVirtual(fl.Time) {
		return func() {}
	}
	text := fmt.Sprintf("%s has not answered for %s: it is submitting %s. muster waits for the answer; after Ctrl-C the next `muster apply` finds out what was submitted", b.Title(), units.FormatDuration(slowSubmit), units.Count(jobs, "job"))
	timer := time.AfterFunc(slowSubmit, func() { fl.Post(func() { fl.Note(b.Title(), text, true) }) })
	return func() { timer.Stop() }
}

// submitted folds the answer to a Submit call.
func (fl *Fleet) submitted(b *Backend, batch []*Flight, res []providers.Submitted, err error) {
	if err == nil && len(res) != len(batch) {
		err = providers.Errorf(providers.Internal, "backend.%s answered for %d of %d jobs", b.Name, len(res), len(batch))
	}
	if err != nil {
		fl.submitFailed(b, batch, err)
		return
	}
	var unsure []*Flight // whose submission did not come to an end
	var why error
	for i, f := range batch {
		switch pe := res[i].Err; {
		case !fl.flying(f): // already over: its watch was faster
		case pe == nil:
			fl.accepted(f, res[i].Handle, res[i].Stage, res[i].HeldBy)
		case pe.Class == providers.Unreachable || pe.Class == providers.Internal:
			unsure, why = append(unsure, f), pe
		default:
			fl.rejected(f, pe)
		}
	}
	if len(unsure) > 0 {
		fl.submitFailed(b, unsure, why)
		return
	}
	fl.Reachable(b)
	b.tries = 0
}

func (fl *Fleet) accepted(f *Flight, handle string, stage offer.Stage, by offer.Holder) {
	counted := f.Job == nil && f.Stage == offer.Released
	f.Stage, f.HeldBy = f.B.StageOf(stage, handle), by
	if f.Stage == offer.Released {
		f.Unsent = ""
		if !counted {
			fl.Handed++
		}
	}
	f.Job, f.Handle = nil, handle
	if f.Status == cells.Submitting {
		fl.Hear(Accepted{f})
	}
}

// submitFailed is for a call as a whole. Whether its jobs arrived is not
// known, so they are looked for before they are sent again.
func (fl *Fleet) submitFailed(b *Backend, batch []*Flight, err error) {
	switch line.ClassOf(err) {
	case "":
		return // the run is over
	case providers.StaleFence:
		fl.Hear(Overtaken{b, err})
		return
	case providers.Auth, providers.Quota, providers.Invalid, providers.NotFound:
		var pe *providers.Error
		errors.As(err, &pe)
		for _, f := range batch {
			fl.rejected(f, pe)
		}
		return
	}
	for _, f := range batch {
		f.Unsent = err.Error()
	}
	fl.failed(b, err)
	b.quiet = fl.Time.Now().Add(line.Pause(b.tries, err))
	fl.Later(line.Pause(b.tries, err), func() { fl.lookFor(b, batch) })
}

// failed counts a call about jobs that failed.
func (fl *Fleet) failed(b *Backend, err error) {
	fl.Unreachable(b, err)
	if b.tries++; b.tries == reachBound {
		fl.Withdraw(b, b.Title()+" cannot be reached")
	}
}

// rejected is for one job that its backend does not take.
func (fl *Fleet) rejected(f *Flight, err *providers.Error) {
	switch err.Class {
	case providers.StaleFence:
		fl.Hear(Overtaken{f.B, err})
	default:
		if fl.flying(f) {
			fl.Hear(Refused{f, err})
		}
	}
}

// Withdraw takes back what was minted for a backend and never left.
func (fl *Fleet) Withdraw(b *Backend, why string) {
	unsent := b.outbox
	b.outbox = nil
	for _, f := range unsent {
		fl.Hear(Unsent{f, why})
	}
}

// DropEnding takes out, of all that was minted and never left, what is to be
// cancelled.
func (fl *Fleet) DropEnding() (dropped []*Flight) {
	for _, b := range fl.Queues {
		keep := b.outbox[:0]
		for _, f := range b.outbox {
			if f.End == Stays {
				keep = append(keep, f)
			} else {
				dropped = append(dropped, f)
			}
		}
		b.outbox = keep
	}
	return dropped
}
