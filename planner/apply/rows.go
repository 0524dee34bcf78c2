package apply

import (
	"fmt"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/state"
)

// applyRows does what the plan asks for beside launches: moves, acceptances,
// adoptions, cancels, releases, and records that are forgotten.
func (e *engine) applyRows() {
	if e.halted == standing.Beyond {
		return
	}
	for _, t := range e.Plan.Touched {
		e.emit(state.OutputsSeen{Address: t.Address, Outputs: t.Outputs, At: e.Clock()})
	}
	for _, p := range e.phases {
		for cell, k := range p.plan.Kind {
			e.onceForeign(p, cell)
			switch k {
			case planner.Move:
				e.move(p, int32(cell))
			case planner.Accept:
				e.acceptUnverified(p.Address(cell))
				e.accept(p, int32(cell))
			case planner.Adopt:
				e.adoptImport(p, int32(cell))
			case planner.Restart, planner.Cancel, planner.Rerun:
				e.once(k, p.Address(cell))
			case planner.Restore:
				if p.plan.Details[cell].Destroy {
					e.once(planner.Rerun, p.Address(cell))
				}
			}
		}
	}
	e.restoreResults()
	for i := range e.Plan.Loose {
		e.applyRow(&e.Plan.Loose[i])
	}
	e.deletion.Delete(e.Plan.Deletions)
}

// accept lets a job stand as it is: with outputs that hold other bytes than it
// made, with a definition that it was not made by, or both.
func (e *engine) accept(p *phase, cell int32) {
	address, d := p.Address(int(cell)), p.plan.Details[int(cell)]
	if len(d.Seen) > 0 {
		e.emit(state.OutputsSeen{Address: address, Outputs: d.Seen, At: e.Clock()})
	}
	if len(d.Seen) == 0 || !d.Computed.IsZero() {
		e.emit(state.Accepted{Address: address, Result: wish.Accepted(p.plan, cell), By: e.Who, At: e.Clock()})
	}
}

// acceptUnverified completes, on a person's word, a job whose outputs could
// not be verified.
func (e *engine) acceptUnverified(address string) {
	rec := e.st.Jobs[address]
	if rec == nil || rec.Status == state.Completed || rec.Last() == nil {
		return
	}
	last := *rec.Last()
	last.Class, last.Tail = "", nil
	e.emit(state.Observed{Address: address, Token: last.Token, Status: state.Completed, Attempt: last, At: e.Clock()})
}

// once refuses, under -once, what ends or replaces work and no flag covers.
func (e *engine) once(k planner.Kind, address string) {
	if e.Mode != Once || e.halted == standing.Beyond {
		return
	}
	if k == planner.Rerun && !e.AllowRerun {
		e.halt(standing.Beyond, address+" would be re-run: add -allow-rerun, or run muster apply")
	}
	if (k == planner.Restart || k == planner.Cancel) && !e.AllowCancel {
		e.halt(standing.Beyond, address+" would be cancelled: add -allow-cancel, or run muster apply")
	}
}

// onceForeign refuses, under -once, to replace files that no flag covers.
func (e *engine) onceForeign(p *phase, cell int) {
	if e.Mode != Once || e.AllowRerun || e.halted == standing.Beyond {
		return
	}
	if files := p.plan.Details[cell].Foreign; len(files) > 0 {
		e.halt(standing.Beyond, fmt.Sprintf("%s would replace %s, which it did not make: add -allow-rerun, or run muster apply", p.Address(cell), files[0].Path))
	}
}

func (e *engine) applyRow(r *planner.Row) {
	switch {
	case r.Release:
		e.rental.GiveBack(r)
	case r.Kind == planner.Cancel:
		e.once(r.Kind, r.Address)
		if f := e.byJob[r.Address]; f != nil && e.halted != standing.Beyond {
			f.End = fleet.Forget
			if e.Plan.Destroy {
				f.End, f.by = fleet.Hold, e.Who
			}
		} else if j := e.st.Jobs[r.Address]; j != nil && !j.InFlight() && !e.Plan.Destroy {
			e.emit(state.Forgot{Address: r.Address, At: e.Clock()})
		}
	case r.Kind == planner.Forget:
		e.emit(state.Forgot{Address: r.Address, At: e.Clock()})
	case r.Kind == planner.Duplicate:
		if f := e.byJob[r.Address]; f != nil {
			e.report.Note(r.Address, r.Address+" is known twice: the one that claimed its token goes on", true)
		}
	}
}

// move gives a record the address it has now. Its files stay where the
// record says they lie; where the declared path changed on this machine they
// are renamed.
func (e *engine) move(p *phase, cell int32) {
	from := p.plan.Details[int(cell)].From
	if from == "" {
		return
	}
	to := p.Address(int(cell))
	defined := e.define(p) // before the record that names it
	e.emit(state.MovedJob{From: from, To: to, Axes: p.Axes(int(cell)), At: e.Clock(), Job: &state.Job{
		Address: to, Phase: p.Name, Name: p.Label(int(cell)), Definition: defined, Scheme: planner.Scheme, Result: p.resultText(cell, false),
		Request: planner.Hash(p.Requests(0)[p.RequestOf(int(cell), 0)].Hash).String(), Inputs: e.Plan.InputHashes(p.plan, int(cell)),
	}})
	if f := e.byJob[from]; f != nil { // a running attempt goes with it
		delete(e.byJob, from)
		f.p, f.cell, f.Addr, f.Key = p, cell, to, to
		e.budgets.Move(&f.tab, to, p.Name)
		p.inflight++
		e.byJob[to] = f
	}
	e.moveFiles(p, cell, to)
}
