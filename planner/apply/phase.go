package apply

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
	hashes "github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// A phase holds the cells of one phase, and its edges.
type phase struct {
	*lang.Phase
	plan *planner.PhasePlan

	cells.Vertex
	places places
	before int             // completed before this run
	left   int             // left out by the plan, because their backend cannot be asked
	unread map[string]bool // metrics without a value that were reported

	queues   []cells.Queue                  // ready cells by ordinal of their backend
	length   func(cell int32) time.Duration // how long each is expected to take; nil = all alike
	rank     func(cell int32) float64       // which start first; nil = all alike
	ordered  []int32                        // cells by rank, once asked for; see inOrder
	expects  func(cell int32) time.Duration // the expected time of each; 0 = unknown
	unplaced bool
	again    bool             // cells of queues that were looked at already became ready
	inflight int              // runs and smokes submitted
	parked   [parkings]int    // queued jobs, by why they do not start by themselves; free counts down
	edges    []*edge          // to the phases that read its outputs
	inputs   []*edge          // by input
	stores   []*staging.Store // inputs that no phase makes

	// unsettled are the cells whose result hash is not known yet: a file that they, or
	// jobs before them, read had no digest when the plan was made. nil: none is.
	unsettled []settling

	lost     map[int32]bool            // cells that did not get the result that was there for them
	late     map[history.Mark]int      // running jobs, as last counted
	breakers map[string]*retry.Breaker // by phase or setting; see stops
	stalled  stall
	source   string // digest of its source; "" without one
	defined  string
	base     jobspec.Spec      // the common part of the phase's jobs
	baseOn   *backends.Backend // where base is for
}

// loadPhases makes the engine's view of the plan's phases and the edges
// between them. Cells are not looked at yet.
func (e *engine) loadPhases() {
	var fits fit.Budget
	for _, pp := range e.Plan.Phases {
		p := &phase{Phase: pp.Phase, plan: pp, places: placesOf(pp), Vertex: cells.Vertex{Tally: cells.NewTally(pp.Phase.Len()), Ord: len(e.phases)}}
		length, differ := history.PastOf(pp.Phase, pp.RecordsIn(e.st), e.st.Definitions).Lengths(&fits)
		p.expects = func(cell int32) time.Duration { return length(int(cell)) }
		if differ {
			p.length = p.expects
		}
		if p.Ranked() {
			p.rank = func(cell int32) float64 { return p.Rank(int(cell)) }
		}
		e.phases = append(e.phases, p)
		e.nodes = append(e.nodes, &p.Vertex)
		e.byName[p.Name] = p
	}
	for _, p := range e.phases {
		for _, in := range p.Raw {
			p.stores = append(p.stores, staging.NewStore(p.Name, in, func(cell int) []hashes.File { return p.plan.RawFiles(in, cell) }, func(late []int32) { e.schedule.unpark(p, late) }))
		}
		for _, in := range p.Inputs {
			from := e.byName[in.From.Name]
			if from == nil {
				continue
			}
			ed := e.schedule.newEdge(in, from, p)
			cells.Connect(&ed.Groups, &from.Vertex, &p.Vertex)
			from.edges = append(from.edges, ed)
			p.inputs = append(p.inputs, ed)
		}
		for _, name := range p.DependsOn {
			if from := e.byName[name]; from != nil {
				p.Await(&from.Vertex)
			}
		}
	}
}

// loadCells gives every cell its first status, from the plan and the state,
// and counts the cells for which each waits.
func (e *engine) loadCells() {
	for _, p := range e.phases {
		for i := range int32(len(p.At)) {
			p.Set(i, e.begin(p, i))
			if p.At[i] == cells.Held && p.plan.Away(int(i)) != "" {
				p.left++
			}
			if p.unsettledAt(i) && p.At[i] == cells.Done {
				p.Set(i, cells.Checking)
			}
		}
		p.before = p.Counts[cells.Done] + p.Counts[cells.Checking]
	}
	cells.Count(e.nodes)
	e.schedule.unchainAll()
}

// begin is a cell's first status.
func (e *engine) begin(p *phase, cell int32) cells.Status {
	k := p.plan.Does(cell)
	var rec *state.Job
	if len(e.st.Jobs) > 0 {
		rec = e.st.Jobs[p.Address(int(cell))]
	}
	if rec != nil && e.byJob[rec.Address] != nil {
		f := e.byJob[rec.Address]
		if f.End != backends.Stays {
			return cells.Ending
		}
		return f.Status
	}
	if k == planner.Retry && rec != nil && rec.Retry.After(e.Clock()) {
		// Never longer than the delay, or a clock that was set back would keep it
		// waiting by as much.
		e.schedule.due(p, cell, clock.Earliest(rec.Retry, e.Clock().Add(p.Retry.Delay)))
		return cells.Waiting
	}
	switch k {
	case planner.Run, planner.Rerun, planner.Retry, planner.Restart, planner.Resubmit, planner.Blocked:
		return cells.Pending
	case planner.HeldKind:
		return cells.HeldAs(rec)
	case planner.Restore, planner.AdoptFiles:
		return p.restoredAs(cell, rec)
	case planner.Altered:
		return cells.Altered
	case planner.Skipped:
		if rec != nil && rec.Status == state.Completed {
			return cells.SkippedDone
		}
		return cells.Skipped
	}
	return cells.RestsAs(rec, rec != nil && p.launchesLeft(rec) > 0 && p.Retry.Covers(rec.Class))
}

// recordKey is where the state keeps a cell, or its smoke.
func (p *phase) recordKey(cell int32, smoke bool) string {
	a := p.Address(int(cell))
	if smoke {
		return state.SmokeAddress(a)
	}
	return a
}

// inOrder are the cells of the phase, the first to start first: as the phase says, else as
// they are in the grid.
func (p *phase) inOrder() iter.Seq[int32] {
	if p.rank == nil {
		return func(yield func(int32) bool) {
			for c := range int32(len(p.At)) {
				if !yield(c) {
					return
				}
			}
		}
	}
	if p.ordered == nil {
		p.ordered = make([]int32, len(p.At))
		for c := range p.ordered {
			p.ordered[c] = int32(c)
		}
		slices.SortStableFunc(p.ordered, func(a, b int32) int { return cmp.Compare(p.rank(a), p.rank(b)) })
	}
	return slices.Values(p.ordered)
}
