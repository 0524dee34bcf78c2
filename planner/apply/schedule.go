package apply

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

// schedule moves cells between waiting, ready and held, and takes back jobs that are queued
// behind a job that is not done.
type schedule struct {
	*jobs
	holds   *holds
	inputs  *inputs
	retries retry.Delayed
}

// An edge joins a producer phase to the groups of cells that read it.
type edge struct {
	staging.Edge
	from, to *phase
}

func (sc *schedule) newEdge(in *lang.Input, from, to *phase) *edge {
	groups := cells.NewGroups(in, len(from.At), len(to.At))
	return &edge{Edge: staging.NewEdge(groups, func(late []int32) { sc.unpark(to, late) }), from: from, to: to}
}

// unchain takes back the jobs queued behind a job that failed:
// its queue would keep it for ever.
func (sc *schedule) unchain(p *phase, cell int32) {
	late := false
	for to, c := range p.Behind(cell) {
		if at := to.At[c]; at != cells.Queued && at != cells.Submitting && at != cells.Unknown || to.Waits[c] == 0 {
			continue
		}
		if f := sc.byJob[sc.phases[to.Ord].Address(int(c))]; f != nil && f.End == backends.Stays {
			if f.Status == cells.Unknown {
				f.orphaned = true
				continue
			}
			f.EndAs(backends.Behind)
			late = true
		}
	}
	if p.Gate.Pilots[cell] {
		sc.behindPilots(p)
	}
	if late && sc.backends.Unanswered == 0 {
		sc.backends.Cancel()
	}
}

// behindSmoke takes back the jobs queued behind a smoke.
func (sc *schedule) behindSmoke(p *phase, cell int32) {
	sc.takeBack(p, func(f *attempt) bool { return !f.smoke || f.cell > cell && !p.Smoke.Parallel })
}

// behindPilots takes back the jobs queued behind the pilots.
func (sc *schedule) behindPilots(p *phase) {
	sc.takeBack(p, func(f *attempt) bool { return !f.smoke && !p.Gate.Pilots[f.cell] })
}

// takeBack takes the jobs of a phase that have not started out of their queues.
func (sc *schedule) takeBack(p *phase, which func(*attempt) bool) {
	n := 0
	for _, f := range sc.attempts {
		if f.p != p || f.End != backends.Stays || !which(f) {
			continue
		}
		switch f.Status {
		case cells.Queued, cells.Submitting:
			f.End = backends.Behind
			n++
		case cells.Unknown:
			f.orphaned = true
		}
	}
	if n > 0 && sc.backends.Unanswered == 0 {
		sc.backends.Cancel()
	}
}

// backInQueue takes back a job that turns out to wait in its queue behind a
// failed job, after its own place was unknown for a while.
func (sc *schedule) backInQueue(f *attempt) {
	if !f.orphaned || f.End != backends.Stays {
		return
	}
	f.EndAs(backends.Behind)
	if sc.backends.Unanswered == 0 {
		sc.backends.Cancel()
	}
}

// completed tells the cells that wait for this one.
func (sc *schedule) completed(p *phase, cell int32) {
	if !sc.inputs.staging.Together() {
		for _, ed := range p.edges {
			sc.inputs.carryAhead(ed, cell)
		}
	}
	p.Complete(cell, func(to *cells.Vertex, c int32) { sc.makeReady(sc.phases[to.Ord], c) })
}

// refuseCell holds a cell, or its smoke, whose needs are not met.
func (sc *schedule) refuseCell(p *phase, cell int32, smoke bool, why string) {
	if !smoke {
		sc.holdJob(p, cell, why)
		return
	}
	p.Gate.Mark(cell, cells.Held)
	sc.Note(p.Address(int(cell)), "the smoke of "+p.Address(int(cell))+" is held: "+why, true)
}

// unpark makes cells check their inputs again; -1-cell is a smoke.
func (sc *schedule) unpark(p *phase, late []int32) {
	for _, c := range late {
		if c < 0 {
			p.Gate.Retry(-1 - c)
		} else if p.At[c] == cells.Pending && p.Waits[c] == 0 {
			sc.makeReady(p, c)
		}
	}
}

// again lets the cell of a landed attempt start again.
func (sc *schedule) again(f *attempt) {
	switch {
	case f.p == nil:
	case f.smoke:
		if f.p.Gate.Retry(f.cell); f.p.Waits[f.cell] > 0 {
			f.p.Gate.Mark(f.cell, cells.Pending)
		}
		sc.behindSmoke(f.p, f.cell)
	default:
		f.p.Set(f.cell, cells.Pending)
		sc.unchain(f.p, f.cell) // they came after a token that is no more
		if f.p.Waits[f.cell] == 0 {
			sc.makeReady(f.p, f.cell)
		}
	}
}

// startOver is for an attempt that ended as another job than is wanted: its cell
// starts again, if the plan starts it.
func (sc *schedule) startOver(f *attempt) {
	if k := f.p.plan.Does(f.cell); !k.Starts() && k != planner.Blocked {
		f.p.Set(f.cell, cells.Held)
		sc.unchain(f.p, f.cell)
		return
	}
	sc.again(f)
}

// unchainAll takes back the jobs that earlier runs queued behind a job that
// is neither done nor under way by now: it failed, or starts again.
func (sc *schedule) unchainAll() {
	if len(sc.attempts) == 0 {
		return
	}
	sc.backends.Unanswered++ // the cancels wait for the first look-up
	defer func() { sc.backends.Unanswered-- }()
	for _, p := range sc.phases {
		for c, s := range p.At {
			if !s.Satisfied() && !s.InFlight() && sc.byJob[p.Address(c)] == nil && !sc.repoints(p, int32(c)) {
				sc.unchain(p, int32(c))
			}
		}
	}
}

// repoints reports whether the successors of a cell will follow its next launch
// without muster's help: a host's queue cannot know a token that does not exist
// yet.
func (sc *schedule) repoints(p *phase, cell int32) bool {
	rec := sc.st.Jobs[p.Address(int(cell))]
	if p.plan.Does(cell) != planner.Retry || rec == nil || rec.Last() == nil {
		return false
	}
	b := sc.backends.At(rec.Last().Backend, rec.Last().Pool)
	d := p.places.Of(cell)
	return b != nil && !b.Can.HostQueue && d != nil && d.Backend == b.Name
}

// enqueue puts every cell that waits for nothing into its queue.
func (sc *schedule) enqueue() {
	for _, p := range sc.phases {
		for _, c := range p.Gate.Order {
			if p.Waits[c] == 0 {
				p.Gate.Reached(c)
			}
		}
		for i := range int32(len(p.At)) {
			if p.At[i] == cells.Pending && p.Waits[i] == 0 {
				sc.makeReady(p, i)
			}
		}
	}
}

// releaseRetries makes the jobs ready whose delay is over.
func (sc *schedule) releaseRetries() {
	now := sc.Clock()
	for d, ok := sc.retries.Pop(now); ok; d, ok = sc.retries.Pop(now) {
		p := sc.phases[d.Phase]
		if p.At[d.Cell] != cells.Waiting {
			continue // held or cancelled meanwhile
		}
		p.Set(d.Cell, cells.Pending)
		if p.Waits[d.Cell] == 0 {
			sc.makeReady(p, d.Cell)
		}
	}
	if d, ok := sc.retries.Next(); ok && sc.retrying(nil) { // else a person has to act first, and the run need not wait
		sc.wakeAt(d.At)
	}
}

// retryAt lets a cell wait until a time.
func (sc *schedule) retryAt(p *phase, cell int32, at time.Time) {
	p.Set(cell, cells.Waiting)
	sc.due(p, cell, at)
}

// due notes when a cell is launched again. A run that does not stay says so.
func (sc *schedule) due(p *phase, cell int32, at time.Time) {
	sc.retries.Add(retry.Due{At: at, Phase: p.Ord, Cell: cell})
	if sc.leavesJobs() && !sc.holds.stopped(p) {
		sc.needs(fmt.Sprintf("%s is retried at %s", p.Address(int(cell)), units.FormatSecond(at.UTC())))
	}
}

// retrying reports whether this run will make a retry, of a phase or, with nil, of any.
func (sc *schedule) retrying(of *phase) bool {
	return sc.retries.Some(func(d retry.Due) bool {
		p := sc.phases[d.Phase]
		return (of == nil || of == p) && p.At[d.Cell] == cells.Waiting && !sc.holds.stopped(p)
	})
}

// makeReady puts a cell that waits for nothing into the queue of its backend.
// If its smoke has yet to run, the smoke goes instead.
func (sc *schedule) makeReady(p *phase, cell int32) {
	if sc.Plan.Destroy {
		return // nothing starts
	}
	d := p.places.Of(cell)
	if d == nil || sc.backends.Contacts[d.Backend] == nil {
		// The plan had no reason to place it. The next one has.
		if !p.unplaced {
			p.unplaced = true
			sc.Note(p.Address(int(cell)), p.Address(int(cell))+" can start, but this plan has no place for it: run muster apply again", false)
		}
		return
	}
	b := sc.backends.At(d.Backend, d.Pool)
	p.Set(cell, cells.Ready)
	p.queues[b.Ord].Push(cell)
}

// holdJob holds one cell, with a reason that the state keeps.
func (sc *schedule) holdJob(p *phase, cell int32, why string) {
	sc.Emit(state.HeldJob{Address: p.Address(int(cell)), Reason: why, By: "muster", At: sc.Clock()})
	p.Set(cell, cells.Held)
	sc.unchain(p, cell)
	sc.report.NoteHeld("phase."+p.Name, p.Address(int(cell)), why)
}
