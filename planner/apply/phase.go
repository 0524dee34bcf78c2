package apply

import (
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/placing"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/lateness"
	"github.com/muster-run/muster/state"
)

// A phase holds the cells of one phase, and its edges.
type phase struct {
	*lang.Phase
	plan *planner.PhasePlan

	cells.Node
	places placing.Places
	before int             // completed before this run
	unread map[string]bool // metrics without a value of which was told

	queues   []cells.Queue                  // ready cells by ordinal of their backend
	length   func(cell int32) time.Duration // how long each is foretold to take; nil = all alike
	unplaced bool
	again    bool          // cells of queues that were looked at already became ready
	inflight int           // runs and smokes handed over
	parked   [parkings]int // queued jobs, by why they do not start by themselves; free counts down
	edges    []*edge       // to the phases that read its outputs
	inputs   []*edge       // by input

	lost    map[int32]bool        // cells that did not get their earlier result back
	late    map[lateness.Mark]int // running jobs, as last counted
	breaker brake.Breaker
	stalled brake.Stall
	source  string // digest of its source; "" without one
	defined string
	base    sheet.Spec     // what all jobs of the phase share
	baseOn  *fleet.Backend // where base is for
}

// loadPhases makes the engine's view of the plan's phases and the edges
// between them. Cells are not looked at yet.
func (e *engine) loadPhases() {
	for _, pp := range e.Plan.Phases {
		p := &phase{Phase: pp.Phase, plan: pp, places: placing.New(pp), Node: cells.Node{Tally: cells.NewTally(pp.Phase.Len()), Ord: len(e.phases)}}
		if length := evidence.PastOf(pp.Phase, wish.Records(pp, e.st), e.st.Definitions).Lengths(); length != nil {
			p.length = func(cell int32) time.Duration { return length(int(cell)) }
		}
		e.phases = append(e.phases, p)
		e.nodes = append(e.nodes, &p.Node)
		e.byName[p.Name] = p
	}
	for _, p := range e.phases {
		for _, in := range p.Inputs {
			from := e.byName[in.From.Name]
			if from == nil {
				continue
			}
			ed := e.newEdge(in, from, p)
			cells.Connect(&ed.Groups, &from.Node, &p.Node)
			from.edges = append(from.edges, ed)
			p.inputs = append(p.inputs, ed)
		}
		for _, name := range p.DependsOn {
			if from := e.byName[name]; from != nil {
				p.Await(&from.Node)
			}
		}
	}
}

// loadCells gives every cell its first status, from the plan and the state,
// and counts what each waits for.
func (e *engine) loadCells() {
	for _, p := range e.phases {
		for i := range int32(len(p.At)) {
			p.Set(i, e.begin(p, i))
		}
		p.before = p.Counts[cells.Done]
	}
	cells.Count(e.nodes)
	e.unchainAll()
}

// unchainAll takes back what earlier runs handed over to come after a job that
// is neither done nor under way by now: it failed, or starts anew.
func (e *engine) unchainAll() {
	if len(e.flights) == 0 {
		return
	}
	e.fleet.Unanswered++ // the cancels wait for the first look-up
	defer func() { e.fleet.Unanswered-- }()
	for _, p := range e.phases {
		for c, s := range p.At {
			if !s.Satisfied() && !s.InFlight() && e.byJob[p.Address(c)] == nil && !e.repoints(p, int32(c)) {
				e.unchain(p, int32(c))
			}
		}
	}
}

// repoints reports whether what comes after a cell will come after its next
// launch by itself: a host's queue knows nothing of a token that is yet to come.
func (e *engine) repoints(p *phase, cell int32) bool {
	rec := e.st.Jobs[p.Address(int(cell))]
	if wish.Kind(p.plan, cell) != planner.Retry || rec == nil || rec.Last() == nil {
		return false
	}
	b := e.fleet.At(rec.Last().Backend, rec.Last().Pool)
	return b != nil && !b.Can.HostQueue
}

// enqueue puts every cell that waits for nothing into its queue.
func (e *engine) enqueue() {
	for _, p := range e.phases {
		for i := range int32(len(p.At)) {
			if p.At[i] == cells.Pending && p.Waits[i] == 0 {
				e.makeReady(p, i)
			}
		}
	}
}

// begin is a cell's first status.
func (e *engine) begin(p *phase, cell int32) cells.Status {
	k := wish.Kind(p.plan, cell)
	var rec *state.Job
	if len(e.st.Jobs) > 0 {
		rec = e.st.Jobs[p.Address(int(cell))]
	}
	if rec != nil && e.byJob[rec.Address] != nil {
		f := e.byJob[rec.Address]
		if f.End != fleet.Stays {
			return cells.Ending
		}
		return f.Status
	}
	if k == planner.Retry && rec != nil && rec.Retry.After(e.Clock()) {
		// Never longer than the delay, or a clock that was set back would keep it
		// waiting by as much.
		e.due(p, cell, clock.Earliest(rec.Retry, e.Clock().Add(p.Retry.Delay)))
		return cells.Waiting
	}
	switch k {
	case planner.Run, planner.Rerun, planner.Retry, planner.Restart, planner.Resubmit, planner.Blocked:
		return cells.Pending
	case planner.HeldKind:
		return cells.HeldAs(rec)
	case planner.Restore:
		return p.restoredAs(cell, rec)
	case planner.Altered:
		return cells.Altered
	case planner.Skipped:
		if rec != nil && rec.Status == state.Completed {
			return cells.SkippedDone
		}
		return cells.Skipped
	}
	return cells.RestsAs(rec, rec != nil && e.attemptsLeft(p, rec) > 0 && p.Retry.Covers(rec.Class))
}
