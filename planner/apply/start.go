package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/unattended"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A starter turns ready cells into intents, as far as holds, gates, caps, budgets
// and rates allow.
type starter struct {
	*jobs
	accounts  *accounts
	builder   *builder
	chains    *chains
	gates     *gates
	holds     *holds
	inputs    *inputs
	placement *placement
	schedule  *schedule
	settler   *settler
	rate      retry.Rate
	pack      []*attempt      // built, of like jobs that will share a node
	signed    map[string]bool // workdirs, by site.Filesystem.Files
}

// dispatch mints the launches that may start now. Earlier phases come first: the campaign
// lists producers before consumers.
func (s *starter) dispatch() {
	if s.Stopped() || s.backends.Unanswered > 0 || s.holds.All || s.Plan.Destroy {
		return
	}
	s.accounts.budgets.Short = false
	for _, p := range s.phases {
		before := p.stalled
		p.stalled = stall{}
		s.dispatchPhase(p)
		s.tellStall(p, before)
	}
}

func (s *starter) dispatchPhase(p *phase) {
	if s.holds.Phases[p.Name] || p.allTripped() {
		return
	}
	s.dispatchSmokes(p)
	if p.Gate.Shut() && !(s.leavesJobs() && s.chains.gateRides(p)) {
		return
	}
	if p.Gate.Piloting() {
		s.dispatchPilots(p)
		if !s.leavesJobs() {
			return
		}
	}
	for p.again = true; p.again; {
		p.again = false
		for ord := range p.queues {
			switch {
			case p.queues[ord].Len() == 0:
			case !s.chains.pilotsRide(p, s.backends.Queues[ord]):
				s.needs(fmt.Sprintf("phase.%s waits for its pilots", p.Name))
			default:
				s.dispatchQueue(p, ord)
			}
		}
	}
}

// dispatchQueue starts cells of one queue until something says stop.
func (s *starter) dispatchQueue(p *phase, ord int) {
	defer s.send()
	q := &p.queues[ord]
	for q.Len() > 0 {
		if len(s.pack) == 0 && s.mayGrow(p, q) {
			return
		}
		cell := q.Front()
		if p.At[cell] != cells.Ready { // held or moved meanwhile
			q.Pop()
			continue
		}
		switch s.start(p, cell, false) {
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
func (s *starter) start(p *phase, cell int32, smoke bool) verdict {
	d := p.places.Of(cell)
	if smoke {
		d = p.Gate.Place
	}
	b := s.backends.At(d.Backend, d.Pool)
	if !smoke && b.Away() && s.placement.evade(p, cell, d) {
		return refused
	}
	if why := s.noRoom(p, b, d.Pool, d.Limits); why != "" {
		if s.leavesJobs() {
			s.needs(why)
		}
		return full
	}
	if s.holds.covers(p, cell) {
		if smoke {
			return full
		}
		p.Set(cell, cells.Held)
		return refused
	}
	if !s.settler.readable(p, cell, smoke) {
		return refused
	}
	v, why := s.inputs.codeHere(p, b, d.Pool)
	if v == started {
		v, why = s.inputs.inputsHere(p, cell, b, d.Pool, smoke)
	}
	if p.partial() {
		p.unsettle(cell) // each launch may go on with other producers
	}
	if v == started && p.unsettledAt(cell) {
		if v = s.settler.start(p, cell, smoke); v != started {
			return v
		}
	}
	if v == started {
		return s.launch(p, cell, smoke, d, b)
	}
	if v == refused {
		s.schedule.refuseCell(p, cell, smoke, why)
	}
	return v
}

// tooFast is why a launch would pass the ceiling on launches, "" when it would
// not; the loop is woken when it would not any more.
func (s *starter) tooFast(p *phase, b *backends.Backend) string {
	until := s.rate.Until(rateOf(p, b, false), s.Clock())
	if until.IsZero() {
		return ""
	}
	s.wakeAt(until)
	why := s.rate.Why(until, s.Clock())
	p.stalled.Note(stallRate, why)
	return why
}

func rateOf(p *phase, b *backends.Backend, again bool) retry.Launch {
	l := retry.Launch{Phase: p.Name, Repeat: again}
	if b.Can.Rents {
		l.Rents = b.Name
	}
	return l
}

// noRoom is why a job cannot start now, "" when it can.
func (s *starter) noRoom(p *phase, b *backends.Backend, pool string, own offer.Limits) string {
	if b.Full != "" {
		why := b.Title() + " takes no files: " + b.Full
		p.stalled.Note(stallRoom, why)
		return why
	}
	under := arrayLimit(p, b)
	switch {
	case !s.backends.Takes(b, pool, own, under, s.holds.asleep(b)):
		if at := own.On(b.Pools[pool]); at.MaxSubmit > 0 {
			by := ""
			if at.SubmitBy != "" {
				by = ", the limit of " + at.SubmitBy
			}
			return fmt.Sprintf("%s lets you have %s to %s%s; the rest follows as room appears", b.Title(), request.Jobs(at.MaxSubmit, "submitted", "submitted"), pool, by)
		}
		return b.Title() + " takes no more jobs now"
	case s.cappedAll(b, under, s.adds()):
		return unattended.CampaignCapReached(s.Campaign.MaxParallel)
	case s.capped(p, b):
		return unattended.PhaseCapReached(p.MaxParallel, p.Name)
	}
	if why := s.tooFast(p, b); why != "" {
		return fmt.Sprintf("phase.%s waits: %s", p.Name, why)
	}
	return ""
}

// arrayLimit is the part of a phase's cap that a queue enforces by itself: as
// long as it does, only so many of the phase's jobs there can run, however
// many wait.
func arrayLimit(p *phase, b *backends.Backend) connection.Throttle {
	if p.MaxParallel <= 0 || !b.Can.Arrays && !b.Can.HostQueue {
		return connection.Throttle{}
	}
	return connection.Throttle{Phase: p.Name, Most: p.MaxParallel}
}

// cappedAll applies the cap of the campaign to the number of jobs that run at once. A host
// queue that gets everything keeps it, when there is no other.
func (s *starter) cappedAll(b *backends.Backend, under connection.Throttle, more int) bool {
	return unattended.Cap{Most: s.Campaign.MaxParallel, Jobs: s.backends.With(b, under, more), ByQueue: s.leavesJobs() && b.Can.HostQueue, OneQueue: s.backends.InUse() <= 1}.Exceeded()
}

// capped applies the cap of a phase. A host queue keeps it, and is fed beyond
// it only when it takes everything, and when the phase runs nowhere else: two
// queues do not know of one another.
func (s *starter) capped(p *phase, b *backends.Backend) bool {
	running := p.inflight + len(s.pack)
	if p.MaxParallel <= 0 || running < p.MaxParallel {
		return false
	}
	// A scheduler's array keeps the cap by itself, however many are in it.
	kept := b.Can.Arrays || b.Can.HostQueue && b.Can.FeedSlots == 0 || s.Mode != Drive
	return unattended.Cap{Most: p.MaxParallel, Jobs: running + 1, ByQueue: kept, OneQueue: !p.places.Moved() && !s.backends.Several(p.places.Pools())}.Exceeded()
}

// launch builds a job and mints its intent, or keeps it for its pack.
func (s *starter) launch(p *phase, cell int32, smoke bool, d *place.Decision, b *backends.Backend) verdict {
	f := &attempt{p: p, cell: cell, smoke: smoke, where: d, plan: s.approval}
	f.Addr, f.B, f.Pool, f.Under = p.Address(int(cell)), b, d.Pool, arrayLimit(p, b)
	f.Key = f.Addr
	if smoke {
		f.Key, f.canary = state.SmokeAddress(f.Addr), s.gates.canaryDue(p, cell, p.Gate.Print(cell))
	}
	f.fresh = s.number(f)
	f.Token = s.Mint()
	job, rec, diags := s.builder.build(f)
	if diags.HasErrors() {
		s.gates.refuse(f, diags)
		return refused
	}
	f.Job, f.record = job, rec
	if f.packs() > 1 {
		return s.join(f)
	}
	s.accounts.setAside(f, nil)
	if !s.accounts.afford(f) || !s.accounts.claim(f) {
		return s.unaffordable(f)
	}
	return s.mint(f)
}

// unaffordable has a job that no budget covers go elsewhere, or wait.
func (s *starter) unaffordable(f *attempt) verdict {
	if s.placement.cheaper(f) {
		return refused
	}
	f.p.stalled.Note(stallBudget, s.accounts.budgets.Why)
	if s.leavesJobs() {
		s.needs(s.accounts.budgets.Why)
	}
	return full
}

// mint records the intent of a job, and has it submitted.
func (s *starter) mint(f *attempt) verdict {
	p, d, b, rec := f.p, f.where, f.B, f.record
	f.record = state.Job{}
	rec.Status = ""
	var expected float64
	if !f.smoke {
		expected = p.expects(f.cell).Seconds()
	}
	s.Emit(state.Intended{Job: rec, Fresh: f.fresh, At: s.Clock(), Attempt: state.Attempt{
		N: f.N, Token: f.Token, Backend: b.Name, Pool: d.Pool, Host: site.Host(b.Conf), Workdir: f.filesystem().Workdir, Queue: b.Pools[d.Pool].Queue, Plan: f.plan, Fence: s.Session.Fence(),
		Ceiling: f.tab.One, Rates: d.Rates(*f.asked), Why: d.Reason(), Scaled: retry.Changes(d.Shape, *f.asked), Replaces: f.Job.MoveAside, Planned: expected,
	}})
	if s.err != nil {
		return full
	}
	s.accounts.adopt(f)
	s.sign(b, d.Pool)
	s.backends.Mint(&f.Attempt)
	s.rate.Count(rateOf(p, b, f.N > 1), s.Clock())
	return started
}

// submitAhead gives backends everything that they run by themselves: ready jobs, and jobs
// after others on the same backend. It stops, in each phase, at the first thing that needs the
// engine, and names it.
func (s *starter) submitAhead() {
	if s.Stopped() || s.backends.Unanswered > 0 || s.holds.All || s.inputs.staging.Shipping() {
		return
	}
	for _, p := range s.phases {
		if p.allTripped() || s.holds.Phases[p.Name] {
			continue
		}
		s.dispatchSmokes(p) // each after the one before
		if p.Gate.Shut() && !s.chains.gateRides(p) {
			s.needs(fmt.Sprintf("phase.%s waits for its smoke", p.Name))
			continue
		}
		for _, pilots := range []bool{true, false} { // the rest comes after them
			if !s.submitCells(p, pilots) {
				return
			}
		}
	}
}

// submitCells submits the cells that wait for others on the same backend: the
// pilots of a phase, or the rest. It reports whether there was room.
func (s *starter) submitCells(p *phase, pilots bool) bool {
	defer s.send()
	for c := range p.inOrder() {
		if p.At[c] != cells.Pending || p.Waits[c] == 0 || p.Gate.Pilots[c] != pilots {
			continue
		}
		if why := s.chains.ridesAfter(p, c); why != "" {
			s.needs(why)
			continue
		}
		if s.start(p, c, false) == full {
			return false // it said why
		}
	}
	return true
}

// dispatchSmokes starts the smokes of a phase: one after another, unless it
// says that they may run beside one another. Nothing is started after one
// failed.
func (s *starter) dispatchSmokes(p *phase) {
	g := &p.Gate
	if _, stopped := g.Stopped(); stopped || len(g.Order) == 0 || g.Place == nil || s.backends.Contacts[g.Place.Backend] == nil {
		return
	}
	for _, c := range slices.Clone(g.Order) {
		if !p.Smoke.Parallel && g.InFlight() > 0 && s.Mode == Drive {
			return
		}
		if g.Smokes[c] != cells.Ready {
			continue
		}
		switch s.start(p, c, true) {
		case full:
			return
		case parked:
			g.Smokes[c] = cells.Pending
		}
	}
}

// dispatchPilots starts pilots, and nothing else of the phase.
func (s *starter) dispatchPilots(p *phase) {
	for c := range int32(len(p.At)) {
		if !p.Gate.Pilots[c] || p.At[c] != cells.Ready {
			continue
		}
		d := p.places.Of(c)
		if q := &p.queues[s.backends.At(d.Backend, d.Pool).Ord]; !q.Remove(c) {
			continue
		}
		switch s.start(p, c, false) {
		case full:
			p.queues[s.backends.At(d.Backend, d.Pool).Ord].Push(c)
			return
		case parked:
			p.Set(c, cells.Pending)
		}
	}
}

// sign leaves the campaign's name in a workdir before its first job starts
// there, so that another campaign that writes there can name it. Nothing
// depends on it.
func (s *starter) sign(b *backends.Backend, pool string) {
	at := b.Filesystem(pool)
	if s.signed[at.Files()] || b.Conf.Type == "sim" {
		return
	}
	if s.signed == nil {
		s.signed = map[string]bool{}
	}
	s.signed[at.Files()] = true
	name, text := site.Tenant{Campaign: s.Campaign.Name, Dir: s.Campaign.Dir, Host: s.Host}.File(s.st.Lineage)
	sum := sha256.Sum256(text)
	b.Call(func() {
		b.Provider.Push(s.Context(), at.Name(), path.Join(at.Workdir, name), int64(len(text)), "sha256:"+hex.EncodeToString(sum[:]), bytes.NewReader(text))
	}, func() {})
}

// tellStall reports a stall that began in this turn.
func (s *starter) tellStall(p *phase, before stall) {
	if p.stalled.News(before) {
		s.Note("phase."+p.Name, "phase."+p.Name+" waits: "+p.stalled.Why, false)
	}
}
