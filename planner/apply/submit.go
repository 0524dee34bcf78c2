package apply

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
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
	for _, b := range e.inOrder {
		if b.Calling() || len(b.outbox) == 0 || b.Provider == nil {
			continue
		}
		if now := e.Clock(); now.Before(b.quiet) {
			e.wakeAt(b.quiet)
			continue
		}
		e.tell(b, e.holds.All) // a hold of an earlier run may still be in its queue
		n := min(len(b.outbox), batchMax)
		if b.Can.Arrays {
			n = len(b.outbox) // like jobs are one array, and the whole DAG is in before its roots start
		}
		batch := b.outbox[:n:n]
		b.outbox = append([]*flight(nil), b.outbox[n:]...)
		e.submit(b, batch)
	}
}

func (e *engine) submit(b *backend, batch []*flight) {
	r := providers.SubmitRequest{Backend: b.Name, Fence: e.Session.Fence(), Holder: e.Session.Holder(), Batch: batch[0].token, Jobs: make([]providers.Job, len(batch))}
	for i, f := range batch {
		r.Jobs[i] = *f.job
	}
	var res []providers.Submitted
	var err error
	b.Call(func() { res, err = b.Provider.Submit(e.ctx, r) }, func() { e.submitted(b, batch, res, err) })
}

// submitted folds the answer to a Submit call.
func (e *engine) submitted(b *backend, batch []*flight, res []providers.Submitted, err error) {
	if err == nil && len(res) != len(batch) {
		err = providers.Errorf(providers.Internal, "backend.%s answered for %d of %d jobs", b.Name, len(res), len(batch))
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
	counted := f.job == nil && !f.kept
	f.kept = handle == "" && f.b.Can.Arrays
	if !counted && !f.kept {
		e.handed++
	}
	f.job, f.handle = nil, handle
	if f.status == cells.Submitting {
		e.emit(state.Submitted{Address: f.addr, Token: f.token, Handle: handle, At: e.Clock()})
		if f.end == endNot {
			f.mark(cells.Queued)
		}
	}
}

// submitFailed is for a call as a whole. Whether its jobs arrived is not
// known, so they are looked for before they are sent again.
func (e *engine) submitFailed(b *backend, batch []*flight, err error) {
	switch line.ClassOf(err) {
	case "":
		return // the run is over
	case providers.StaleFence:
		e.overtaken(b, err)
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
	if b.tries++; b.tries == reachBound {
		e.turnBack(b)
	}
	b.quiet = e.Clock().Add(line.Backoff(b.tries))
	e.wakeAt(b.quiet)
	e.later(line.Backoff(b.tries), func() { e.lookFor(b, batch) })
}

// later posts f after d, unless the run ends before.
func (e *engine) later(d time.Duration, f func()) {
	e.Spawn(func() {
		t, stop := e.Time.Timer(d)
		defer stop()
		e.Time.Park(func() bool { return len(t) > 0 || over(e.ctx.Done()) })
		select {
		case <-t:
			e.Post(f)
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
	b.Call(func() { obs, err = b.Find(e.ctx, tokens) }, func() { e.found(b, open, obs, err) })
}

// found folds the answer to a look-up.
func (e *engine) found(b *backend, asked []*flight, obs []offer.Observation, err error) {
	if err != nil {
		if line.ClassOf(err) == "" {
			return
		}
		e.unreachable(b, err)
		if b.tries++; b.tries == reachBound {
			e.turnBack(b)
		}
		if b.tries >= reachBound {
			for _, f := range asked {
				f.mark(cells.Unknown)
			}
		}
		e.later(line.Backoff(b.tries), func() { e.lookFor(b, asked) })
		return
	}
	b.tries, b.quiet = 0, time.Time{}
	by := make(map[string]*offer.Observation, len(obs))
	for i := range obs {
		by[line.Stem(obs[i].Token)] = &obs[i]
	}
	var unsaid []*flight
	for _, f := range asked {
		if e.flights[f.token] != f {
			continue
		}
		o := by[f.token]
		switch {
		case o == nil || o.Presence == offer.Unknown:
			unsaid = append(unsaid, f)
		case o.Presence == offer.Absent:
			e.absent(f)
		default:
			f.missed = 0
			e.observe(b.contact, o)
			e.proceed(f)
		}
	}
	if len(unsaid) > 0 {
		e.cannotSay(b, unsaid)
		return
	}
	b.silent = 0
	e.reachable(b)
}

// cannotSay is for jobs of which a backend that answered knows nothing for
// now: a host of it is away. They stay as they are and are asked after again.
func (e *engine) cannotSay(b *backend, fs []*flight) {
	e.unreachable(b, fmt.Errorf("it cannot say what became of %s", jobs(len(fs), "handed to it", "handed to it")))
	for _, f := range fs {
		f.mark(cells.Unknown)
	}
	b.silent++
	e.later(line.Backoff(b.silent+3), func() { e.lookFor(b, fs) })
}

// absent is for a backend that answered and does not know a token. An intent
// is sent again under it; a job that was there counts as lost after a second
// reading.
func (e *engine) absent(f *flight) {
	switch {
	case f.end != endNot:
		e.ended(f, state.Cancelled, "it was gone")
	case f.status == cells.Submitting || f.handle == "" && f.status == cells.Unknown:
		e.resubmit(f)
	case f.missed == 0:
		f.missed = 1
		f.mark(cells.Unknown)
		e.report.note(e, f.addr, f.addr+": its backend does not list it; looking again in a minute", true)
		e.later(secondLook, func() { e.lookFor(f.b, []*flight{f}) })
	default:
		e.observe(f.b.contact, &offer.Observation{Token: f.token, Presence: offer.Found, Status: offer.Lost, Attempt: f.n})
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
		if v, _ := e.codeHere(f.p, f.b, f.pool); v != started || !e.inputsReady(f) || !e.inputsFound(f) {
			e.withdraw(f, "its inputs have to be looked for again")
			return
		}
		job, _, diags := e.build(f)
		if diags.HasErrors() {
			e.withdraw(f, "it cannot be rendered")
			e.refuse(f, diags)
			return
		}
		f.job = job
		if f.dearer() {
			e.withdraw(f, f.b.title()+" asks more for it than when it was minted")
			return
		}
	}
	f.mark(cells.Submitting)
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
		f.p.gate.Retry(f.cell)
		e.behindSmoke(f.p, f.cell)
	default:
		f.p.Set(f.cell, cells.Pending)
		e.unchain(f.p, f.cell) // they came after a token that is no more
		if f.p.Waits[f.cell] == 0 {
			e.makeReady(f.p, f.cell)
		}
	}
}

// overtaken ends the run: a backend has heard of a later holder of the lease.
func (e *engine) overtaken(b *backend, err error) {
	e.halt(LeaseLost, "backend."+b.Name+" serves another muster by now")
	e.err = err
}

// rejected is for one job that its backend refuses: the next approved
// candidate gets it, else it is held.
func (e *engine) rejected(f *flight, err *providers.Error) {
	switch err.Class {
	case providers.StaleFence:
		e.overtaken(f.b, err)
		return
	case providers.Unreachable, providers.Internal:
		e.submitFailed(f.b, []*flight{f}, err)
		return
	}
	if e.flights[f.token] != f {
		return
	}
	if next := e.nextCandidate(f, "re-placed: "+f.b.Name+" "+f.pool+" refused it"); next != nil {
		e.emit(state.NotSubmitted{Address: f.addr, Token: f.token, Reason: err.Error(), At: e.Clock()})
		e.land(f)
		e.report.note(e, f.addr, f.addr+" goes to "+next.Backend+" "+next.Pool+": "+err.Error(), false)
		f.p.replace(f.cell, next)
		e.again(f)
		return
	}
	if e.opening > 0 && !f.smoke {
		e.later(line.BackoffMin, func() { e.rejected(f, err) })
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
