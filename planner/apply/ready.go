package apply

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/approval"
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/planner/handover"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// makeReady puts a cell that waits for nothing into the queue of its backend,
// unless its smoke has yet to run: then the smoke is what became ready.
func (e *engine) makeReady(p *phase, cell int32) {
	if e.Plan.Destroy {
		return // nothing starts
	}
	p.Gate.Reached(cell)
	d := p.places.Of(cell)
	if d == nil || e.fleet.Contacts[d.Backend] == nil {
		// The plan had no reason to place it. The next one has.
		if !p.unplaced {
			p.unplaced = true
			e.report.Note(p.Address(int(cell)), p.Address(int(cell))+" is free, but this plan does not place it: apply again", false)
		}
		return
	}
	b := e.fleet.At(d.Backend, d.Pool)
	p.Set(cell, cells.Ready)
	p.queues[b.Ord].Push(cell)
}

// dispatch mints what may start now. Earlier phases come first: the campaign
// lists producers before consumers.
func (e *engine) dispatch() {
	if e.halted != standing.None || e.fleet.Unanswered > 0 || e.holds.All || e.Plan.Destroy {
		return
	}
	e.budgets.Short = false
	for _, p := range e.phases {
		before := p.stalled
		p.stalled = brake.Stall{}
		e.dispatchPhase(p)
		e.tellStall(p, before)
	}
}

func (e *engine) dispatchPhase(p *phase) {
	if e.holds.Phases[p.Name] || p.breaker.Open {
		return
	}
	e.dispatchSmokes(p)
	if p.Gate.Shut() && !(e.handingOver() && e.gateRides(p)) {
		return
	}
	if p.Gate.Piloting() {
		e.dispatchPilots(p)
		if !e.handingOver() {
			return
		}
	}
	for p.again = true; p.again; {
		p.again = false
		for ord := range p.queues {
			switch {
			case p.queues[ord].Len() == 0:
			case !e.pilotsRide(p, e.fleet.Queues[ord]):
				e.needs(fmt.Sprintf("phase.%s waits for its pilots", p.Name))
			default:
				e.dispatchQueue(p, ord)
			}
		}
	}
}

// dispatchQueue starts cells of one queue until something says stop.
func (e *engine) dispatchQueue(p *phase, ord int) {
	q := &p.queues[ord]
	for q.Len() > 0 {
		cell := q.Front()
		if p.At[cell] != cells.Ready { // held or moved meanwhile
			q.Pop()
			continue
		}
		switch e.start(p, cell, false) {
		case started, refused:
			q.Pop()
		case parked: // its files are being looked for; it comes back
			q.Pop()
			p.Set(cell, cells.Pending)
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
	d := p.places.Of(cell)
	if smoke {
		d = p.Gate.Place
	}
	b := e.fleet.At(d.Backend, d.Pool)
	if !smoke && b.Away() && e.evade(p, cell, d) {
		return refused
	}
	if why := e.noRoom(p, b, d.Pool, d.Limits); why != "" {
		if e.handingOver() {
			e.needs(why)
		}
		return full
	}
	if len(e.holds.Some) > 0 && e.covers(p, cell) {
		if smoke {
			return full
		}
		p.Set(cell, cells.Held)
		return refused
	}
	if v, why := e.codeHere(p, b, d.Pool); v != started {
		if v == refused {
			e.refuseCell(p, cell, smoke, why)
		}
		return v
	}
	if v := e.inputsHere(p, cell, b, d.Pool, smoke); v != started {
		return v
	}
	return e.launch(p, cell, smoke, d, b)
}

// tooFast is why a launch would pass the ceiling on launches, "" when it would
// not; the loop is woken when it would not any more.
func (e *engine) tooFast(p *phase, b *fleet.Backend) string {
	until := e.rate.Until(rateOf(p, b, false), e.Clock())
	if until.IsZero() {
		return ""
	}
	e.wakeAt(until)
	why := e.rate.Why(until, e.Clock())
	p.stalled.Note(brake.ByRate, why)
	return why
}

func rateOf(p *phase, b *fleet.Backend, again bool) brake.Launch {
	l := brake.Launch{Phase: p.Name, Repeat: again}
	if b.Can.Rents {
		l.Rents = b.Name
	}
	return l
}

// noRoom is why a job cannot start now, "" when it can.
func (e *engine) noRoom(p *phase, b *fleet.Backend, pool string, own offer.Limits) string {
	if b.Full != "" {
		why := b.Title() + " takes no files: " + b.Full
		p.stalled.Note(brake.ByRoom, why)
		return why
	}
	under := throttle(p, b)
	switch {
	case !e.fleet.Takes(b, pool, own, under):
		if limit := own.On(b.Pools[pool]).MaxSubmit; limit > 0 {
			return fmt.Sprintf("%s lets you have %s to %s; the rest follows as room appears", b.Title(), request.Jobs(limit, "submitted", "submitted"), pool)
		}
		return b.Title() + " takes no more jobs now"
	case e.cappedAll(b, under):
		return handover.OfCampaign(e.Campaign.MaxParallel)
	case e.capped(p, b):
		return handover.OfPhase(p.MaxParallel, p.Name)
	}
	if why := e.tooFast(p, b); why != "" {
		return fmt.Sprintf("phase.%s waits: %s", p.Name, why)
	}
	return ""
}

// throttle is what a queue keeps of a phase's cap by itself: as long as it
// does, only so many of the phase's jobs there can run, however many wait.
func throttle(p *phase, b *fleet.Backend) line.Throttle {
	if p.MaxParallel <= 0 || !b.Can.Arrays && !b.Can.HostQueue {
		return line.Throttle{}
	}
	return line.Throttle{Phase: p.Name, Most: p.MaxParallel}
}

// cappedAll applies the cap of the campaign, to what may run at once. A host
// queue that is handed everything keeps it, when there is no other.
func (e *engine) cappedAll(b *fleet.Backend, under line.Throttle) bool {
	return handover.Cap{Most: e.Campaign.MaxParallel, Jobs: e.fleet.With(b, under), Kept: e.handingOver() && b.Can.HostQueue, Alone: e.fleet.InUse() <= 1}.Exceeded()
}

// capped applies the cap of a phase. A host queue keeps it, and is fed beyond
// it only when it takes everything, and when the phase runs nowhere else: two
// queues do not know of one another.
func (e *engine) capped(p *phase, b *fleet.Backend) bool {
	if p.MaxParallel <= 0 || p.inflight < p.MaxParallel {
		return false
	}
	// A scheduler's array keeps the cap by itself, however many are in it.
	kept := b.Can.Arrays || b.Can.HostQueue && b.Can.FeedSlots == 0 || e.Mode != Drive
	return handover.Cap{Most: p.MaxParallel, Jobs: p.inflight + 1, Kept: kept, Alone: !p.places.Moved() && !e.fleet.Several(p.places.Pools())}.Exceeded()
}

func (e *engine) recordKey(p *phase, cell int32, smoke bool) string {
	a := p.Address(int(cell))
	if smoke {
		return state.SmokeAddress(a)
	}
	return a
}

// launch builds a job and mints its intent.
func (e *engine) launch(p *phase, cell int32, smoke bool, d *place.Decision, b *fleet.Backend) verdict {
	f := &flight{p: p, cell: cell, smoke: smoke, where: d, plan: e.approval}
	f.Addr, f.B, f.Pool, f.Under = p.Address(int(cell)), b, d.Pool, throttle(p, b)
	f.Key = f.Addr
	if smoke {
		f.Key = state.SmokeAddress(f.Addr)
	}
	fresh := e.number(f)
	f.Token = e.Mint()
	job, rec, diags := e.build(f)
	if diags.HasErrors() {
		e.refuse(f, diags)
		return refused
	}
	f.Job = job
	e.setAside(f, nil)
	if !e.afford(f) {
		if e.cheaper(f) {
			return refused
		}
		p.stalled.Note(brake.ByBudget, e.budgets.Why)
		if e.handingOver() {
			e.needs(e.budgets.Why)
		}
		return full
	}
	rec.Status = ""
	e.emit(state.Intended{Job: rec, Fresh: fresh, At: e.Clock(), Attempt: state.Attempt{
		N: f.N, Token: f.Token, Backend: b.Name, Pool: d.Pool, Host: site.Host(b.Conf), Plan: f.plan, Fence: e.Session.Fence(),
		Ceiling: f.tab.One, Rates: d.Rates(*f.asked), Why: d.Reason(), Scaled: relaunch.Changes(d.Shape, *f.asked), Replaces: job.MoveAside,
	}})
	if e.err != nil {
		return full
	}
	e.adopt(f)
	e.sign(b, d.Pool)
	e.fleet.Mint(&f.Flight)
	e.rate.Count(rateOf(p, b, f.N > 1), e.Clock())
	return started
}

// number decides which launch this is. It reports whether the attempts count
// from 1 again.
func (e *engine) number(f *flight) (fresh bool) {
	if f.max = 1; !f.smoke {
		f.max = f.most()
	}
	kind := wish.Kind(f.p.plan, f.cell)
	next := relaunch.Next(e.st.Jobs[f.Key], e.approval, f.p.resultText(f.cell, f.smoke), kind == planner.Run, kind == planner.Retry || approval.Holds(e.st, e.approval, kind))
	if f.smoke {
		next = relaunch.Number{N: 1, Fresh: true}
	}
	f.N, f.First, f.max, f.plan = next.N, next.N, max(f.max, next.N), cmp.Or(next.Again, f.plan)
	return next.Fresh
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
	p.Set(cell, cells.Held)
	e.unchain(p, cell)
	e.report.NoteHeld("phase."+p.Name, p.Address(int(cell)), why)
}
