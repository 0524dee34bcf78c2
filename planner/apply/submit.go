package apply

import (
	"context"
	"errors"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// send hands over what was minted. It is called only when all intents are
// durable.
func (e *engine) send() {
	if e.halted == LeaseLost || e.halted == StoreFailed {
		return
	}
	for _, b := range e.backends {
		if b.busy || len(b.outbox) == 0 || b.p == nil {
			continue
		}
		if now := e.Clock(); now.Before(b.quiet) {
			e.wakeAt(b.quiet)
			continue
		}
		e.tell(b, e.holds.all) // a hold of an earlier run may still be in its queue
		n := min(len(b.outbox), batchMax)
		batch := b.outbox[:n:n]
		b.outbox = append([]*flight(nil), b.outbox[n:]...)
		e.submit(b, batch)
	}
}

func (e *engine) submit(b *backend, batch []*flight) {
	r := providers.SubmitRequest{Backend: b.name, Fence: e.Session.Fence(), Batch: batch[0].token, Jobs: make([]providers.Job, len(batch))}
	for i, f := range batch {
		r.Jobs[i] = *f.job
	}
	var res []providers.Submitted
	var err error
	e.call(b, func() { res, err = b.p.Submit(e.ctx, r) }, func() { e.submitted(b, batch, res, err) })
}

// submitted folds the answer to a Submit call.
func (e *engine) submitted(b *backend, batch []*flight, res []providers.Submitted, err error) {
	if err == nil && len(res) != len(batch) {
		err = providers.Errorf(providers.Internal, "backend.%s answered for %d of %d jobs", b.name, len(res), len(batch))
	}
	if err != nil {
		e.submitFailed(b, batch, err)
		return
	}
	e.reachable(b)
	b.tries = 0
	for i, f := range batch {
		if e.flights[f.token] != f {
			continue // already over: its watch was faster
		}
		if res[i].Err != nil {
			e.rejected(f, res[i].Err)
			continue
		}
		e.accepted(f, res[i].Handle)
	}
}

func (e *engine) accepted(f *flight, handle string) {
	if f.job != nil {
		e.handed++
	}
	f.job, f.handle = nil, handle
	if f.status == submitting {
		e.emit(state.Submitted{Address: f.addr, Token: f.token, Handle: handle, At: e.Clock()})
		if f.end == endNot {
			f.mark(queued)
		}
	}
}

// classOf is the class of a provider's error; what is no provider's error
// says that it could not be asked.
func classOf(err error) providers.ErrorClass {
	var pe *providers.Error
	if errors.As(err, &pe) {
		return pe.Class
	}
	if errors.Is(err, context.Canceled) {
		return ""
	}
	return providers.Unreachable
}

// submitFailed is for a call as a whole. Whether its jobs arrived is not
// known, so they are looked for before they are sent again.
func (e *engine) submitFailed(b *backend, batch []*flight, err error) {
	switch classOf(err) {
	case "":
		return // the run is over
	case providers.StaleFence:
		e.halt(LeaseLost, "backend."+b.name+" serves another muster by now")
		e.err = err
		return
	case providers.Auth, providers.Quota, providers.Invalid, providers.NotFound:
		var pe *providers.Error
		errors.As(err, &pe)
		for _, f := range batch {
			e.rejected(f, pe)
		}
		return
	}
	e.unreachable(b, err)
	b.tries++
	b.quiet = e.Clock().Add(backoff(b.tries))
	e.wakeAt(b.quiet)
	e.later(backoff(b.tries), func() { e.lookFor(b, batch) })
}

// backoff doubles from backoffMin to backoffMax.
func backoff(tries int) time.Duration {
	d := backoffMin
	for range tries - 1 {
		if d *= 2; d >= backoffMax {
			return backoffMax
		}
	}
	return d
}

// later posts f after d, unless the run ends before.
func (e *engine) later(d time.Duration, f func()) {
	e.spawn(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			e.post(f)
		case <-e.ctx.Done():
		}
	})
}

// lookFor asks a backend about flights whose outcome is not known.
func (e *engine) lookFor(b *backend, batch []*flight) {
	var open []*flight
	var tokens []string
	for _, f := range batch {
		if e.flights[f.token] == f {
			open = append(open, f)
			tokens = append(tokens, f.token)
		}
	}
	if len(open) == 0 {
		return
	}
	var obs []offer.Observation
	var err error
	e.call(b, func() { obs, err = b.find(e.ctx, tokens) }, func() { e.found(b, open, obs, err) })
}

// find asks in pieces, so that a call stays well under the size of a message.
func (b *backend) find(ctx context.Context, tokens []string) ([]offer.Observation, error) {
	if b.p == nil {
		return nil, providers.Errorf(providers.Unreachable, "backend.%s is not configured", b.name)
	}
	ctx, cancel := contextWithTimeout(ctx, askTimeout)
	defer cancel()
	var out []offer.Observation
	for len(tokens) > 0 {
		n := min(len(tokens), findMax)
		obs, err := b.p.Find(ctx, b.name, tokens[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, obs...)
		tokens = tokens[n:]
	}
	return out, nil
}

const findMax = 2000 // tokens of one Find call

// found folds the answer to a look-up.
func (e *engine) found(b *backend, asked []*flight, obs []offer.Observation, err error) {
	if err != nil {
		if classOf(err) == "" {
			return
		}
		e.unreachable(b, err)
		b.tries++
		if b.tries >= reachBound {
			for _, f := range asked {
				f.mark(unknown)
			}
		}
		e.later(backoff(b.tries), func() { e.lookFor(b, asked) })
		return
	}
	e.reachable(b)
	b.tries, b.quiet = 0, time.Time{}
	by := make(map[string]*offer.Observation, len(obs))
	for i := range obs {
		by[stem(obs[i].Token)] = &obs[i]
	}
	for _, f := range asked {
		if e.flights[f.token] != f {
			continue
		}
		o := by[f.token]
		switch {
		case o == nil || o.Presence == offer.Unknown:
			e.cannotSay(b, f)
		case o.Presence == offer.Absent:
			e.absent(f)
		default:
			f.missed = 0
			e.observe(b, o)
			e.proceed(f)
		}
	}
}

// cannotSay leaves a flight as it is and asks again later.
func (e *engine) cannotSay(b *backend, f *flight) {
	f.mark(unknown)
	e.later(backoffMax, func() { e.lookFor(b, []*flight{f}) })
}

// absent is for a backend that answered and does not know a token. An intent
// is sent again under it; a job that was there counts as lost after a second
// reading.
func (e *engine) absent(f *flight) {
	switch {
	case f.end != endNot:
		e.ended(f, state.Cancelled, "it was gone")
	case f.status == submitting || f.handle == "" && f.status == unknown:
		e.resubmit(f)
	case f.missed == 0:
		f.missed = 1
		f.mark(unknown)
		e.report.note(e, f.addr, f.addr+": its backend does not list it; looking again in a minute", true)
		e.later(secondLook, func() { e.lookFor(f.b, []*flight{f}) })
	default:
		e.observe(f.b, &offer.Observation{Token: f.token, Presence: offer.Found, Status: offer.Lost, Attempt: f.n})
	}
}

// resubmit sends an intent whose job surely did not arrive, under its token.
func (e *engine) resubmit(f *flight) {
	if f.p == nil || e.halted != None && e.Mode == Drive && e.halted != Interrupted {
		e.withdraw(f, "not wanted any more")
		return
	}
	if f.job == nil {
		rec := e.st.Jobs[f.key]
		if want := f.p.resultText(f.cell, f.smoke); rec != nil && want != "" && rec.Result != want {
			e.withdraw(f, "it became another job before it was handed over")
			return
		}
		if !e.inputsReady(f) || !f.p.code.ready {
			e.withdraw(f, "its inputs are gone")
			return
		}
		job, _, diags := e.build(f)
		if diags.HasErrors() {
			e.withdraw(f, "it cannot be rendered")
			e.refuse(f, diags)
			return
		}
		f.job = job
	}
	f.mark(submitting)
	f.b.outbox = append(f.b.outbox, f)
}

// withdraw takes an intent back; its cell starts anew where it is wanted.
func (e *engine) withdraw(f *flight, why string) {
	e.emit(state.NotSubmitted{Address: f.addr, Token: f.token, Reason: why, At: e.Clock()})
	e.land(f)
	e.again(f)
}

// again lets the cell of a landed flight start anew.
func (e *engine) again(f *flight) {
	switch {
	case f.p == nil:
	case f.smoke:
		f.p.gate.retry(f.cell)
	default:
		f.p.set(f.cell, pending)
		e.unchain(f.p, f.cell) // they came after a token that is no more
		if f.p.waits[f.cell] == 0 {
			e.makeReady(f.p, f.cell)
		}
	}
}

// rejected is for one job that its backend refuses: the next approved
// candidate gets it, else it is held.
func (e *engine) rejected(f *flight, err *providers.Error) {
	switch err.Class {
	case providers.StaleFence:
		e.halt(LeaseLost, "backend."+f.b.name+" serves another muster by now")
		e.err = err
		return
	case providers.Unreachable, providers.Internal:
		e.submitFailed(f.b, []*flight{f}, err)
		return
	}
	if next := e.nextCandidate(f); next != nil && !f.smoke {
		e.emit(state.NotSubmitted{Address: f.addr, Token: f.token, Reason: err.Error(), At: e.Clock()})
		e.land(f)
		e.report.note(e, f.addr, f.addr+" goes to "+next.Backend+" "+next.Pool+": "+err.Error(), false)
		f.p.replace(f.cell, next)
		e.again(f)
		return
	}
	text := err.Error()
	if err.Hint != "" {
		text += " (" + err.Hint + ")"
	}
	if f.smoke {
		e.emit(state.NotSubmitted{Address: f.addr, Token: f.token, Reason: text, At: e.Clock()})
		e.land(f)
		e.smokeFailed(f, text)
		return
	}
	e.holdJob(f.p, f.cell, text)
	e.emit(state.NotSubmitted{Address: f.addr, Token: f.token, Reason: text, At: e.Clock()})
	e.land(f)
}

// nextCandidate is an approved place that was not tried, nil if there is none.
func (e *engine) nextCandidate(f *flight) *place.Decision {
	d := f.where
	if d == nil {
		return nil
	}
	passed := false
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Backend == d.Backend && c.Pool == d.Pool {
			passed = true
			continue
		}
		if !passed || !c.Fits || e.backends[c.Backend] == nil {
			continue
		}
		next := *d
		next.Price, next.WholeNode = c.Price, c.WholeNode
		next.Backend, next.Pool, next.Why = c.Backend, c.Pool, "re-placed: "+d.Backend+" "+d.Pool+" refused it"
		return &next
	}
	return nil
}
