package apply

import (
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// makeReady puts a cell that waits for nothing into the queue of its backend,
// unless its smoke has yet to run: then the smoke is what became ready.
func (e *engine) makeReady(p *phase, cell int32) {
	p.gate.reached(p, cell)
	d := p.decision(cell)
	if d == nil || e.backends[d.Backend] == nil {
		// The plan had no reason to place it. The next one has.
		if !p.unplaced {
			p.unplaced = true
			e.report.note(e, p.Address(int(cell)), p.Address(int(cell))+" is free, but this plan does not place it: apply again", false)
		}
		return
	}
	b := e.backends[d.Backend]
	p.set(cell, ready)
	p.queues[b.ord].push(cell)
}

// dispatch mints what may start now. Earlier phases come first: the campaign
// lists producers before consumers.
func (e *engine) dispatch() {
	if e.halted != None || e.recovered > 0 || e.holds.all || e.Plan.Destroy {
		return
	}
	e.budgets.short = false
	for _, p := range e.phases {
		if e.holds.phase[p.Name] || p.breaker.open || !p.code.ready {
			continue
		}
		e.dispatchSmokes(p)
		if p.gate.shut() && !(e.handingOver() && e.gateRides(p)) {
			continue
		}
		if p.gate.piloting() {
			e.dispatchPilots(p)
			if !e.handingOver() {
				continue
			}
		}
		for ord := range p.queues {
			if p.queues[ord].len() > 0 {
				e.dispatchQueue(p, ord)
			}
		}
	}
}

// dispatchQueue starts cells of one queue until something says stop.
func (e *engine) dispatchQueue(p *phase, ord int) {
	q := &p.queues[ord]
	for q.len() > 0 {
		cell := q.front()
		if p.at[cell] != ready { // held or moved meanwhile
			q.pop()
			continue
		}
		switch e.start(p, cell, false) {
		case started, refused:
			q.pop()
		case parked: // its files are being looked for; it comes back
			q.pop()
			p.set(cell, pending)
		case full:
			return
		}
	}
}

type verdict int

const (
	started verdict = iota
	refused         // held, with its reason
	parked          // needs an answer first
	full            // no slot, cap, budget or rate for it now
)

// start mints one job if the caps, the budgets and its inputs allow.
func (e *engine) start(p *phase, cell int32, smoke bool) verdict {
	d := p.decision(cell)
	if smoke {
		d = p.gate.place
	}
	b := e.backends[d.Backend]
	if !e.room(b, d.Pool) || e.capped(p, b) || !e.rate.allows(e, p, b, 1) {
		return full
	}
	if len(e.holds.some) > 0 && e.holds.covers(p, cell) {
		if smoke {
			return full
		}
		p.set(cell, held)
		return refused
	}
	if !e.inputsKnown(p, cell, b, smoke) {
		return parked
	}
	return e.launch(p, cell, smoke, d, b)
}

// capped applies the caps of the campaign and the phase. A host queue keeps
// its own phase cap, and is fed beyond it only when it takes everything.
func (e *engine) capped(p *phase, b *backend) bool {
	if limit := e.Campaign.MaxParallel; limit > 0 && len(e.flights) >= limit {
		return true
	}
	if limit := p.MaxParallel; limit > 0 && (!b.can.HostQueue || b.can.FeedSlots > 0) && p.inflight >= limit {
		return e.Mode == Drive
	}
	return false
}

func (e *engine) recordKey(p *phase, cell int32, smoke bool) string {
	a := p.Address(int(cell))
	if smoke {
		return state.SmokeAddress(a)
	}
	return a
}

// launch builds a job and mints its intent.
func (e *engine) launch(p *phase, cell int32, smoke bool, d *place.Decision, b *backend) verdict {
	f := &flight{p: p, cell: cell, smoke: smoke, addr: p.Address(int(cell)), b: b, pool: d.Pool, where: d, plan: e.approval}
	f.key = f.addr
	if smoke {
		f.key = state.SmokeAddress(f.addr)
	}
	fresh := e.number(f)
	f.token = e.Mint()
	job, rec, diags := e.build(f)
	if diags.HasErrors() {
		e.refuse(f, diags)
		return refused
	}
	f.job = job
	f.due = e.budgets.ceilingOf(e, f, nil)
	if !e.budgets.afford(e, f) {
		return full
	}
	rec.Status = ""
	e.emit(state.Intended{Job: rec, Fresh: fresh, At: e.Clock(), Attempt: state.Attempt{
		N: f.n, Token: f.token, Backend: b.name, Pool: d.Pool, Plan: f.plan, Fence: e.Session.Fence(),
		Ceiling: f.due.one, Why: d.Why, Scaled: scaledText(d.Shape, job.Shape), Replaces: job.MoveAside,
	}})
	if e.err != nil {
		return full
	}
	f.status = submitting
	e.adopt(f)
	f.mark(submitting)
	e.rate.count(e, f)
	b.outbox = append(b.outbox, f)
	return started
}

// number decides which launch this is. It reports whether the attempts count
// from 1 again.
func (e *engine) number(f *flight) (fresh bool) {
	f.n, f.max = 1, 1
	if !f.smoke {
		f.max = max(1, f.p.Retry.MaxAttempts)
	}
	rec := e.st.Jobs[f.key]
	last := rec.Last()
	if last == nil {
		f.first = 1
		return true
	}
	// The plan gives a failed job that changed, or was asked for differently,
	// its attempts anew; what this plan launched itself goes on counting.
	anew := f.p.kind(f.cell) == planner.Run && last.Plan != e.approval
	want := f.p.resultText(f.cell, f.smoke)
	if f.smoke || anew || rec.Status == state.Completed || rec.Status == state.Forgotten || rec.Status == state.Cancelled || (rec.Result != "" && want != "" && rec.Result != want) {
		f.first = 1
		return true
	}
	if f.p.kind(f.cell) != planner.Retry && last.Plan != "" {
		f.plan = last.Plan // launched again under the approval that launched it first
	}
	f.n = last.N + 1
	f.max = max(f.max, f.n)
	f.first = f.n
	return false
}

// refuse holds a job that cannot be rendered: nothing was spent on it.
func (e *engine) refuse(f *flight, diags diag.List) {
	text := "it cannot be rendered"
	if i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); i >= 0 {
		text = diags[i].String()
	}
	if f.smoke {
		e.smokeFailed(f, text)
		return
	}
	e.holdJob(f.p, f.cell, text)
}

// holdJob holds one cell, with a reason that the state keeps.
func (e *engine) holdJob(p *phase, cell int32, why string) {
	e.emit(state.HeldJob{Address: p.Address(int(cell)), Reason: why, By: "muster", At: e.Clock()})
	p.set(cell, held)
	e.report.note(e, p.Address(int(cell)), p.Address(int(cell))+" is held: "+why, true)
}
