package apply

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An attempt is one token from its intent to its end, and its purpose.
type attempt struct {
	backends.Attempt
	p     *phase // nil: the campaign does not want it
	cell  int32
	smoke bool
	max   int // launches that it may come to, all in all

	canary bool // the longer run of a smoke

	pack   string    // by which it knows those that share its node; "" = none do
	fresh  bool      // its record begins with this launch
	record state.Job // until its intent is minted

	where   *place.Decision
	charged *ledger.Tariff // as recorded with its attempt; nil: as where says
	asked   *offer.Shape   // of its first launch, as recorded; nil: as where says
	tab     ledger.Tab     // its cost, spent and possible

	short      string // the limit that keeps it in its queue, "" for none
	unholdable bool   // its backend does not hold jobs
	outdated   bool   // its result is not the plan's: however it ends, its cell starts again
	orphaned   bool   // the job before it failed while it was unknown itself
	by         string // who cancelled it
	imported   bool   // it was started without muster
	plan       string // whose approval its launches count under: the one that launched it, or which found it in flight
	launchedIn string // its workdir, as recorded with its launch
	parked     parking
	told       offer.Holder // who was last told to hold it in its queue
}

// parking is why a queued job does not start by itself.
type parking uint8

const (
	free        parking = iota
	unsubmitted         // its scheduler does not have it
	heldThere           // its queue holds it
	parkings
)

// park counts, in its phase, why an attempt does not start by itself.
func (f *attempt) park(inFlight bool) {
	if f.p == nil || f.smoke {
		return
	}
	why := free
	switch {
	case !inFlight:
	case f.HeldThere():
		why = heldThere
	case f.NeedsMuster():
		why = unsubmitted
	}
	f.p.parked[f.parked]--
	f.p.parked[why]++
	f.parked = why
}

// holder says who holds a queued job in its queue, and what releases it.
func (f *attempt) holder() string {
	switch f.HeldBy {
	case offer.HeldByUser:
		return fmt.Sprintf("by hand in the queue of %s; `muster resume` releases it", f.B.Title())
	case offer.HeldByAdmin:
		return fmt.Sprintf("by an administrator in the queue of %s, who alone can release it", f.B.Title())
	case offer.HeldByScheduler:
		return fmt.Sprintf("by the scheduler of %s after a failed launch; `muster explain` says why", f.B.Title())
	}
	return fmt.Sprintf("by muster in the queue of %s until the rest is submitted", f.B.Title())
}

// mark moves an attempt, and its cell, to a status.
func (f *attempt) mark(s cells.Status) {
	f.Status = s
	f.park(true)
	if f.p == nil {
		return
	}
	if f.smoke {
		f.p.Gate.Mark(f.cell, s)
		return
	}
	f.p.Set(f.cell, s)
}

// loadAttempts makes an attempt of every job that a backend has or may have.
func (e *engine) loadAttempts() {
	for _, j := range e.st.InFlight() {
		a := j.Last()
		b := (*backends.Backend)(nil)
		if a != nil {
			b = e.backends.At(a.Backend, a.Pool)
		}
		if b == nil {
			continue
		}
		f := &attempt{
			Attempt: backends.Attempt{Key: j.Key(), Addr: j.Address, Token: connection.Stem(a.Token), B: b, Pool: a.Pool, N: a.N,
				Status: cells.InFlightAs(j.Status), Handle: a.Handle},
			smoke: j.Smoke, plan: a.Plan, max: a.N, imported: a.Why == imported, launchedIn: a.Workdir,
		}
		f.First = jobspec.FirstLaunch(j, f.Token)
		f.charged = ledger.Recorded(a, nil)
		if s, ok := place.Launched(a); ok {
			f.asked = &s
		}
		if f.Status == cells.Queued {
			f.Stage = b.StageOf(offer.Stage(a.Stage), a.Handle)
		}
		if p := e.byName[j.Phase]; p != nil && e.Plan != nil {
			// A smoke that its phase does not declare any more is that of a job that left the campaign.
			if i, ok := p.Index(keyOf(j.Address)); ok && (!j.Smoke || p.Smoke != nil && slices.Contains(p.Smoke.Cells, i)) {
				f.p, f.cell = p, int32(i)
				if !f.imported && j.Definition == p.Definition().Digest { // submitted under the cap that holds
					f.Under = arrayLimit(p, b)
				}
				p.leftBefore(f.cell, j)
				f.canary = f.smoke && e.gates.canaryDue(p, f.cell, j.Result)
				f.where = p.places.On(f.cell, b.Name, a.Pool)
				if f.where == nil || f.smoke {
					f.where = f.whereItWas(e.Plan)
				}
				if !f.smoke {
					f.max = max(a.N, f.most())
				}
				e.plannedEnd(f)
				if !f.smoke && (f.sentAgain() && approvalOf(e.st, e.approval) != nil || ceilingCovers(e.st, e.approval, p.plan.Does(f.cell))) {
					f.plan = e.approval
				}
			}
		}
		if f.shares() {
			f.pack = b.Name + " " + a.Handle // one job of the scheduler
		}
		f.charged = ledger.Recorded(a, f.where)
		f.tab.Paid = e.accounts.billed(f.Key, f.Token)
		e.accounts.setAside(f, a.Ceiling)
		e.accounts.adopt(f)
		if j.Short != "" {
			e.accounts.park(f, j.Short)
		}
	}
	for _, list := range e.accounts.packs {
		e.accounts.reshare(list)
	}
}

// whereItWas is a decision for an attempt that the plan did not place, since it
// was placed before: its launches go on there.
func (f *attempt) whereItWas(p *planner.Plan) *place.Decision {
	v := f.variant()
	pool := f.B.Pools[f.Pool]
	d := &place.Decision{Backend: f.B.Name, Pool: f.Pool, Shape: f.p.Requests(v)[f.p.RequestOf(int(f.cell), v)].Shape,
		Price: place.Payable(pool, pool.Price, pool.Wait), Wait: pool.Wait, WholeNode: pool.WholeNode, Segments: 1, Why: "where it was placed before"}
	if now, ok := p.Today(f.p.Name, int(f.cell), f.B.Name, f.Pool); ok && !f.smoke { // its bills may have passed its quote
		d.Price = now.Price
	}
	if t := f.charged; t != nil { // the pool alone does not say all of it
		d.Boot, d.Hold, d.Price.CPUs, d.Price.GPUs = t.Boot, t.Hold, t.Price.CPUs, t.Price.GPUs
		if !d.Price.Known || d.Price.UnknownSU {
			d.Price, d.WholeNode = t.Price, t.WholeNode
		}
	}
	if !f.smoke {
		f.p.places.Move(f.cell, d)
	} else if g := f.p.plan.Smoke; g == nil || g.Place.Backend == "" {
		f.p.Gate.Place = d
	}
	return d
}

// plannedEnd ends an attempt as the plan asks.
func (e *engine) plannedEnd(f *attempt) {
	if f.smoke {
		return
	}
	rec := e.st.Jobs[f.Key]
	switch f.p.plan.Does(f.cell) {
	case planner.Rerun:
		f.outdated = true
	case planner.Run:
		f.outdated = rec.Status != state.Submitting || f.became(rec) // one that never arrived is sent as it was
	case planner.Blocked, planner.HeldKind, planner.UnknownAt:
		f.outdated = f.became(rec)
	case planner.Restart:
		f.End = backends.Rerun
	case planner.Resubmit:
		f.End = backends.Again
	case planner.Cancel:
		f.End = backends.Hold
		if e.Plan.Destroy {
			f.by = "destroy"
		}
	}
}

// sentAgain reports whether the plan counts an attempt among the jobs to run, since it never
// arrived: it is submitted under its old token, and under the ceiling of that plan.
func (f *attempt) sentAgain() bool {
	return f.p.plan.Does(f.cell) == planner.Run && !f.outdated
}

// became reports whether a cell is another job now than the one in flight.
func (f *attempt) became(rec *state.Job) bool {
	want := f.p.resultText(f.cell, f.smoke)
	return want != "" && rec.Result != want
}

// keyOf is KEY of phase.NAME["KEY"].
func keyOf(address string) string {
	j, _ := addr.Parse(address) // others have no key
	return j.Key
}
