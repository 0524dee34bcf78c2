package apply

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A flight is one token from its intent to its end, and what it is for.
type flight struct {
	fleet.Flight
	p     *phase // nil: the campaign does not want it
	cell  int32
	smoke bool
	max   int // launches that it may come to, all in all

	where *place.Decision
	tab   ledger.Tab // what it cost, and may still cost

	outdated bool   // what it makes is not what the plan wants: however it ends, its cell starts anew
	by       string // who cancelled it
	imported bool   // it was started without muster
	plan     string // under whose approval it was launched
}

// adopt puts a flight where the engine finds it.
func (e *engine) adopt(f *flight) {
	e.flights[f.Token] = f
	e.byJob[f.Key] = f
	e.fleet.Adopt(&f.Flight)
	if f.p != nil {
		f.p.inflight++
	}
	e.budgets.Open(&f.tab)
}

// land takes a flight out: its attempt is over, or never was.
func (e *engine) land(f *flight) {
	if e.flights[f.Token] != f {
		return
	}
	delete(e.flights, f.Token)
	if e.byJob[f.Key] == f {
		delete(e.byJob, f.Key)
	}
	e.fleet.Land(&f.Flight)
	if f.p != nil {
		f.p.inflight--
	}
	e.budgets.Close(&f.tab)
}

// mark moves a flight, and its cell, to a status.
func (f *flight) mark(s cells.Status) {
	f.Status = s
	if f.p == nil {
		return
	}
	if f.smoke {
		f.p.Gate.Mark(f.cell, s)
		return
	}
	f.p.Set(f.cell, s)
}

// loadFlights makes a flight of every job that a backend has or may have.
func (e *engine) loadFlights() {
	for _, j := range e.st.InFlight() {
		a := j.Last()
		b := (*fleet.Backend)(nil)
		if a != nil {
			b = e.fleet.At(a.Backend, a.Pool)
		}
		if b == nil {
			continue
		}
		f := &flight{
			Flight: fleet.Flight{Key: j.Key(), Addr: j.Address, Token: line.Stem(a.Token), B: b, Pool: a.Pool, N: a.N,
				Status: statusOf(j.Status), Handle: a.Handle},
			smoke: j.Smoke, plan: a.Plan, max: a.N, imported: a.Why == imported,
		}
		f.First = firstLaunch(j, f.Token)
		f.Kept = f.Status == cells.Queued && f.Handle == "" && b.Can.Arrays
		if p := e.byName[j.Phase]; p != nil && e.Plan != nil {
			if i, ok := p.Index(keyOf(j.Address)); ok {
				f.p, f.cell = p, int32(i)
				f.where = p.decisionOn(f.cell, b.Name, a.Pool)
				if f.where == nil || f.smoke {
					f.where = e.whereItWas(f)
				}
				if !f.smoke {
					f.max = max(a.N, relaunch.Launches(p.Retry, f.segments()))
				}
				e.plannedEnd(f)
			}
		}
		f.tab.Paid = e.billed(f.Key, f.Token)
		e.setAside(f, a.Ceiling)
		e.adopt(f)
	}
}

// whereItWas is a decision for a flight that the plan did not place, since it
// was placed before: its launches go on there.
func (e *engine) whereItWas(f *flight) *place.Decision {
	v := f.variant()
	pool := f.B.Pools[f.Pool]
	d := &place.Decision{Backend: f.B.Name, Pool: f.Pool, Shape: f.p.Requests(v)[f.p.RequestOf(int(f.cell), v)].Shape,
		Price: place.NodePrice(pool, pool.Price), WholeNode: pool.WholeNode, Segments: 1, Why: "where it was placed before"}
	if !f.smoke {
		f.p.replace(f.cell, d)
	} else if g := f.p.plan.Smoke; g == nil || g.Place.Backend == "" {
		f.p.Gate.Place = d
	}
	return d
}

// plannedEnd is what the plan does with a flight.
func (e *engine) plannedEnd(f *flight) {
	if f.smoke {
		return
	}
	rec := e.st.Jobs[f.Key]
	switch f.p.kind(f.cell) {
	case planner.Rerun:
		f.outdated = true
	case planner.Run:
		f.outdated = rec.Status != state.Submitting || e.became(f, rec) // one that never arrived is sent as it was
	case planner.Blocked, planner.HeldKind, planner.UnknownAt:
		f.outdated = e.became(f, rec)
	case planner.Restart:
		f.End = fleet.Rerun
	case planner.Resubmit:
		f.End = fleet.Again
	case planner.Cancel:
		f.End = fleet.Hold
		if e.Plan.Destroy {
			f.by = "destroy"
		}
	}
}

// became reports whether a cell is another job now than the one in flight.
func (e *engine) became(f *flight, rec *state.Job) bool {
	want := f.p.resultText(f.cell, f.smoke)
	return want != "" && rec.Result != want
}

func firstLaunch(j *state.Job, token string) int {
	for i := range j.Attempts {
		if line.Stem(j.Attempts[i].Token) == token {
			return j.Attempts[i].N
		}
	}
	return 1
}

func statusOf(s state.Status) cells.Status {
	switch s {
	case state.Submitting:
		return cells.Submitting
	case state.Queued, state.Held:
		return cells.Queued
	case state.Running:
		return cells.Running
	case state.Verifying:
		return cells.Verifying
	case state.Waiting:
		return cells.Queued
	}
	return cells.Queued
}

// keyOf is KEY of phase.NAME["KEY"].
func keyOf(address string) string {
	i := strings.IndexByte(address, '[')
	if i < 0 {
		return ""
	}
	j, err := parseAddress(address)
	if err != nil {
		return ""
	}
	return j
}

// decisionOn is the decision for a cell on a backend: the planned one, or the
// candidate among it.
func (p *phase) decisionOn(cell int32, backend, pool string) *place.Decision {
	if d := p.decision(cell); d != nil && d.Backend == backend && (pool == "" || d.Pool == pool) {
		return d
	}
	for i := range p.plan.Placements {
		if d := &p.plan.Placements[i]; i > 0 && d.Backend == backend && d.Pool == pool {
			return d
		}
	}
	return p.decision(cell)
}

// decision is where a cell goes. A cell that the plan did not place (it was
// blocked then) goes where a like one goes; nil when there is none.
func (p *phase) decision(cell int32) *place.Decision {
	if d := p.replaced[cell]; d != nil {
		return d
	}
	if int(cell) < len(p.plan.Place) {
		if i := p.plan.Place[cell]; i > 0 && int(i) < len(p.plan.Placements) {
			return &p.plan.Placements[i]
		}
	}
	return p.byRequest(cell)
}

// byRequest is where jobs go that ask for what a cell does, nil when none starts.
func (p *phase) byRequest(cell int32) *place.Decision {
	// The planner places by request, in the order of requests, from 1.
	if i := p.RequestOf(int(cell), lang.Run) + 1; i < len(p.plan.Placements) && p.plan.Placements[i].Backend != "" {
		return &p.plan.Placements[i]
	}
	return nil
}

// firstChoice is where a cell would go without any overflow.
func (p *phase) firstChoice(cell int32) *place.Decision {
	if d := p.byRequest(cell); d != nil {
		return d
	}
	return p.decision(cell)
}
