package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// status is where a cell is for the engine. One byte a job.
type status uint8

const (
	skipped     status = iota // not selected, and not completed
	skippedDone               // not selected, but its outputs are there
	pending                   // waits for inputs
	ready                     // in a queue of its phase
	submitting                // intent minted, no answer yet
	queued
	running
	verifying
	waiting // failed, will be tried again
	done
	failed
	held
	cancelled
	unknown // in flight, and its backend cannot be asked
	ending  // being cancelled
	statuses
)

// inFlight reports whether a backend has or may have the job.
func (s status) inFlight() bool {
	switch s {
	case submitting, queued, running, verifying, unknown, ending:
		return true
	}
	return false
}

func (s status) satisfied() bool { return s == done || s == skippedDone }

// A phase holds the cells of one phase: 5 bytes a cell, and its edges.
type phase struct {
	*lang.Phase
	ord  int
	plan *planner.PhasePlan

	at     []status
	waits  []int32 // inputs and phases that a cell still waits for
	counts [statuses]int
	before int // completed before this run

	queues   []queue // ready cells by ordinal of their backend
	unplaced bool
	inflight int     // runs and smokes handed over
	edges    []*edge // to the phases that read its outputs
	inputs   []*edge // by input
	after    []*phase
	undone   int // cells that depends_on waits for

	gate     gate
	breaker  breaker
	code     code // its source
	defined  string
	base     spec                      // what all jobs of the phase share
	replaced map[int32]*place.Decision // where cells go that were re-placed
}

// A queue of cells, first in first out; its front is at head.
type queue struct {
	cells []int32
	head  int
}

func (q *queue) push(cell int32) { q.cells = append(q.cells, cell) }
func (q *queue) len() int        { return len(q.cells) - q.head }
func (q *queue) front() int32    { return q.cells[q.head] }

func (q *queue) pop() {
	q.head++
	if q.head == len(q.cells) {
		q.cells, q.head = q.cells[:0], 0
	}
}

// remove takes a cell out of the middle; rare, so linear.
func (q *queue) remove(cell int32) bool {
	for i := q.head; i < len(q.cells); i++ {
		if q.cells[i] == cell {
			q.cells = append(q.cells[:i], q.cells[i+1:]...)
			return true
		}
	}
	return false
}

func (p *phase) set(cell int32, s status) {
	old := p.at[cell]
	if old == s {
		return
	}
	p.counts[old]--
	p.counts[s]++
	p.at[cell] = s
}

// loadPhases makes the engine's view of the plan's phases and the edges
// between them. Cells are not looked at yet.
func (e *engine) loadPhases() {
	for _, pp := range e.Plan.Phases {
		p := &phase{Phase: pp.Phase, ord: len(e.phases), plan: pp}
		n := pp.Phase.Len()
		p.at, p.waits = make([]status, n), make([]int32, n)
		p.counts[skipped] = n
		e.phases = append(e.phases, p)
		e.byName[p.Name] = p
	}
	for _, p := range e.phases {
		for _, in := range p.Inputs {
			from := e.byName[in.From.Name]
			if from == nil {
				continue
			}
			ed := newEdge(in, from, p)
			from.edges = append(from.edges, ed)
			p.inputs = append(p.inputs, ed)
		}
		for _, name := range p.DependsOn {
			if from := e.byName[name]; from != nil {
				from.after = append(from.after, p)
			}
		}
	}
}

// kind is what the plan does with a cell.
func (p *phase) kind(cell int32) planner.Kind {
	if int(cell) < len(p.plan.Kind) {
		return p.plan.Kind[cell]
	}
	return planner.None
}

// loadCells gives every cell its first status, from the plan and the state,
// and counts what each waits for.
func (e *engine) loadCells() {
	for _, p := range e.phases {
		for i := range int32(len(p.at)) {
			p.set(i, e.begin(p, i))
		}
		p.before = p.counts[done]
		p.undone = len(p.at) - p.counts[done] - p.counts[skippedDone]
	}
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			ed.count(func(cell int) bool { return p.arrived(ed, cell) })
			for g := range ed.need {
				if ed.need[g] > 0 {
					for _, c := range ed.consumers(g) {
						p.waits[c]++
					}
				}
			}
		}
	}
	for _, p := range e.phases {
		if p.undone == 0 {
			continue
		}
		for _, d := range p.after {
			for c := range d.waits {
				d.waits[c]++
			}
		}
	}
	e.unchainAll()
}

// unchainAll looks at what failed before this run.
func (e *engine) unchainAll() {
	if len(e.flights) == 0 {
		return
	}
	e.recovered++ // the cancels wait for the first look-up
	defer func() { e.recovered-- }()
	for _, p := range e.phases {
		if p.counts[failed]+p.counts[held]+p.counts[cancelled] == 0 {
			continue
		}
		for c, s := range p.at {
			if s == failed || s == held || s == cancelled {
				e.unchain(p, int32(c))
			}
		}
	}
}

// arrived reports whether a producer's output is where consumers read it.
func (p *phase) arrived(ed *edge, producer int) bool {
	return ed.from.at[producer].satisfied() && !ed.carries(int32(producer))
}

// enqueue puts every cell that waits for nothing into its queue.
func (e *engine) enqueue() {
	for _, p := range e.phases {
		for i := range int32(len(p.at)) {
			if p.at[i] == pending && p.waits[i] == 0 {
				e.makeReady(p, i)
			}
		}
	}
}

// begin is a cell's first status.
func (e *engine) begin(p *phase, cell int32) status {
	k := p.kind(cell)
	var rec *state.Job
	if len(e.st.Jobs) > 0 {
		rec = e.st.Jobs[p.Address(int(cell))]
	}
	if rec != nil && e.byJob[rec.Address] != nil {
		f := e.byJob[rec.Address]
		if f.end != endNot {
			return ending
		}
		return f.status
	}
	switch k {
	case planner.Run, planner.Rerun, planner.Retry, planner.Restart, planner.Resubmit, planner.Blocked:
		return pending
	case planner.HeldKind:
		return heldAs(rec)
	case planner.Skipped:
		if rec != nil && rec.Status == state.Completed {
			return skippedDone
		}
		return skipped
	}
	return e.beginFromRecord(p, cell, rec)
}

// heldAs tells what holds a job apart: its failure, a cancel, or a person.
func heldAs(rec *state.Job) status {
	if rec != nil {
		switch rec.Status {
		case state.Failed:
			return failed
		case state.Cancelled:
			return cancelled
		}
	}
	return held
}

// re-placed cells keep their place until they are done.
func (p *phase) replace(cell int32, d *place.Decision) {
	if p.replaced == nil {
		p.replaced = map[int32]*place.Decision{}
	}
	p.replaced[cell] = d
}

// beginFromRecord is for kinds that leave a cell as its record says.
func (e *engine) beginFromRecord(p *phase, cell int32, rec *state.Job) status {
	if rec == nil {
		return skipped // nothing is launched that the plan does not launch
	}
	switch rec.Status {
	case state.Completed:
		return done
	case state.Failed:
		if e.attemptsLeft(p, rec) > 0 && retryable(p.Retry, rec.Class) {
			return pending
		}
		return failed
	case state.Cancelled:
		return cancelled
	case state.Held:
		return held
	case state.Waiting:
		return pending
	}
	return pending
}
