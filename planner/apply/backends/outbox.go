package backends

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// outbox holds minted jobs that were not sent.
type outbox struct{ *core }

// Mint puts an attempt into the outbox of its backend.
func (ob *outbox) Mint(f *Attempt) {
	ob.move(f, cells.Submitting)
	f.B.outbox = append(f.B.outbox, f)
}

// slow says that a submission takes long; the returned function ends it.
func (ob *outbox) slow(b *Backend, jobs int) func() {
	if clock.IsVirtual(ob.Time) {
		return func() {}
	}
	text := fmt.Sprintf("%s has not answered for %s: it is submitting %s. muster waits for the answer; after Ctrl-C the next `muster apply` finds out which jobs it took", b.Title(), units.FormatDuration(slowSubmit), units.Count(jobs, "job"))
	timer := time.AfterFunc(slowSubmit, func() { ob.Post(func() { ob.Note(b.Title(), text, true) }) })
	return func() { timer.Stop() }
}

func (ob *outbox) accepted(f *Attempt, s providers.Submitted) {
	counted := f.Job == nil && f.Stage == offer.Released
	f.Stage, f.HeldBy, f.Queue = f.B.StageOf(s.Stage, s.Handle), s.HeldBy, s.Queue
	if f.Stage == offer.Released {
		f.Unsent = ""
		if !counted {
			ob.Submitted++
		}
	}
	f.Job, f.Handle = nil, s.Handle
	if f.Status == cells.Submitting {
		ob.Hear(Accepted{f})
	}
}

// failed counts a call about jobs that failed.
func (ob *outbox) failed(b *Backend, err error) {
	ob.Unreachable(b, err)
	if b.tries++; b.tries == reachBound {
		ob.Withdraw(b, b.Title()+" cannot be reached")
	}
}

// rejected is for one job that its backend does not take.
func (ob *outbox) rejected(f *Attempt, err *providers.Error) {
	switch err.Class {
	case providers.StaleFence:
		ob.Hear(Overtaken{f.B, err})
	default:
		if ob.inFlight(f) {
			ob.Hear(Refused{f, err})
		}
	}
}

// Withdraw takes back jobs that were minted for a backend and never sent.
func (ob *outbox) Withdraw(b *Backend, why string) {
	unsent := b.outbox
	b.outbox = nil
	for _, f := range unsent {
		ob.Hear(Unsent{f, why})
	}
}

// DropEnding takes jobs to be cancelled out of those that were never sent.
func (ob *outbox) DropEnding() (dropped []*Attempt) {
	for _, b := range ob.Queues {
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
