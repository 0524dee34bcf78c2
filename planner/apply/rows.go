package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// rows are the plan's actions other than launches.
type rows struct {
	*jobs
	accounts  *accounts
	builder   *builder
	reuse     *reuse
	deletions *deletions
	releases  *releases
}

// apply carries out the plan's actions other than launches: moves,
// acceptances, adoptions, cancels, releases, and records that are forgotten.
func (rw *rows) apply() {
	if rw.halted == progress.Beyond {
		return
	}
	for _, t := range rw.Plan.Touched {
		rw.Emit(state.OutputsSeen{Address: t.Address, Outputs: t.Outputs, At: rw.Clock()})
	}
	outdated := rw.reuse.outdated()
	for _, p := range rw.phases {
		for cell, k := range p.plan.Kind {
			rw.onceForeign(p, cell)
			switch k {
			case planner.Move:
				rw.moveFiles(p, int32(cell), p.Address(cell))
			case planner.Accept:
				rw.acceptUnverified(p.Address(cell))
				rw.accept(p, int32(cell))
			case planner.Adopt:
				rw.adoptImport(p, int32(cell))
			case planner.Restart, planner.Cancel, planner.Rerun:
				rw.once(k, p.Address(cell))
			case planner.Restore:
				if p.plan.Details[cell].Destroy {
					rw.once(planner.Rerun, p.Address(cell))
				}
			}
		}
	}
	rw.reuse.restoreResults()
	rw.reuse.adoptFiles()
	rw.reuse.readAgain(outdated)
	for i := range rw.Plan.Loose {
		rw.applyLoose(&rw.Plan.Loose[i])
	}
	rw.deletions.delete(rw.Plan.Deletions)
}

// accept lets a job stand as it is: with outputs that hold other bytes than it
// made, with a definition that it was not made by, or both.
func (rw *rows) accept(p *phase, cell int32) {
	address, d := p.Address(int(cell)), p.plan.Details[int(cell)]
	if len(d.Seen) > 0 {
		rw.Emit(state.OutputsSeen{Address: address, Outputs: d.Seen, At: rw.Clock()})
	}
	if p.unsettledAt(cell) {
		return // it is accepted when its hash is known
	}
	if len(d.Seen) == 0 || !d.Computed.IsZero() {
		rw.Emit(state.Accepted{Address: address, Result: p.plan.Accepted(cell), By: rw.Who, At: rw.Clock()})
	}
}

// acceptUnverified completes, on a person's word, a job whose outputs could
// not be verified.
func (rw *rows) acceptUnverified(address string) {
	rec := rw.st.Jobs[address]
	if rec == nil || rec.Status == state.Completed || rec.Last() == nil {
		return
	}
	last := *rec.Last()
	last.Class, last.Tail = "", nil
	rw.Emit(state.Observed{Address: address, Token: last.Token, Status: state.Completed, Attempt: last, At: rw.Clock()})
}

// once refuses, under -once, an action that ends or replaces work and that no
// flag covers.
func (rw *rows) once(k planner.Kind, address string) {
	if rw.Mode != Once || rw.halted == progress.Beyond {
		return
	}
	if k == planner.Rerun && !rw.AllowRerun {
		rw.halt(progress.Beyond, address+" would be re-run: add -allow-rerun, or run muster apply")
	}
	if (k == planner.Restart || k == planner.Cancel) && !rw.AllowCancel {
		rw.halt(progress.Beyond, address+" would be cancelled: add -allow-cancel, or run muster apply")
	}
}

// onceForeign refuses, under -once, to replace files that no flag covers.
func (rw *rows) onceForeign(p *phase, cell int) {
	if rw.Mode != Once || rw.AllowRerun || rw.halted == progress.Beyond {
		return
	}
	if files := p.plan.Details[cell].Foreign; len(files) > 0 {
		rw.halt(progress.Beyond, fmt.Sprintf("%s would replace %s, which it did not make: add -allow-rerun, or run muster apply", p.Address(cell), files[0].Path))
	}
}

func (rw *rows) applyLoose(r *planner.Row) {
	switch {
	case r.Release:
		rw.releases.giveBack(r)
	case r.Kind == planner.Cancel:
		rw.once(r.Kind, r.Address)
		if f := rw.byJob[r.Address]; f != nil && rw.halted != progress.Beyond {
			f.End = backends.Forget
			if rw.Plan.Destroy {
				f.End, f.by = backends.Hold, rw.Who
			}
		} else if j := rw.st.Jobs[r.Address]; j != nil && !j.InFlight() && !rw.Plan.Destroy {
			rw.Emit(state.Forgot{Address: r.Address, At: rw.Clock()})
		}
	case r.Kind == planner.Forget:
		rw.Emit(state.Forgot{Address: r.Address, At: rw.Clock()})
	case r.Kind == planner.Duplicate:
		if f := rw.byJob[r.Address]; f != nil {
			rw.Note(r.Address, r.Address+" is known twice: the one that claimed its token continues", true)
		}
	}
}

// readdress gives records the addresses that they have now, before anything is done under
// those. A job that only moved takes its new identity; one that has changed, too, keeps what it
// was made of. Its files stay where the record says they are.
func (rw *rows) readdress() {
	if rw.halted == progress.Beyond {
		return
	}
	moved := history.MovedOf(rw.Campaign.Moved)
	if renames := moved.Renames(); renames.View(rw.st) != rw.st {
		rw.Emit(state.Renamed{Renames: renames, At: rw.Clock()})
	}
	for _, p := range rw.phases {
		for _, cell := range slices.Sorted(maps.Keys(p.plan.Details)) {
			d, k := p.plan.Details[cell], p.plan.Kind[cell]
			if d.From == "" || k == planner.Skipped || k == planner.None {
				continue
			}
			to := p.Address(cell)
			job := &state.Job{Address: to, Phase: p.Name, Name: p.Label(cell)}
			if k == planner.Move {
				job.Definition = rw.builder.define(p) // before the record that names it
				job.Scheme, job.Result = planner.Scheme, p.resultText(int32(cell), false)
				job.Request, job.Inputs = planner.Hash(p.Requests(0)[p.RequestOf(cell, 0)].Hash).String(), state.TextsOf(rw.Plan.InputHashes(p.plan, cell))
			}
			rw.Emit(state.MovedJob{From: d.From, To: to, Axes: p.Axes(cell), At: rw.Clock(), Job: job})
		}
	}
	has := func(address string) bool { _, _, ok := rw.cellOf(address); return ok }
	smokes := moved.Smokes(rw.st.Jobs, has)
	for _, from := range slices.Sorted(maps.Keys(smokes)) {
		to := smokes[from]
		p, cell, _ := rw.cellOf(strings.TrimPrefix(to, state.SmokeAddress("")))
		rw.Emit(state.MovedJob{From: from, To: to, Axes: p.Axes(cell), At: rw.Clock(), Job: &state.Job{Name: p.Label(cell)}})
	}
}

// adoptImport takes a job over that was started without muster.
func (rw *rows) adoptImport(p *phase, cell int32) {
	address := p.Address(int(cell))
	if rw.byJob[address] != nil {
		return // an intent whose job arrived: its attempt is there
	}
	for i := range rw.Campaign.Imports {
		im := &rw.Campaign.Imports[i]
		if im.To != address || im.Files() {
			continue
		}
		b := rw.backends.At(strings.TrimPrefix(im.Backend, "backend."), "")
		if b == nil {
			continue
		}
		d := p.places.On(cell, b.Name, "")
		f := &attempt{Attempt: backends.Attempt{Key: address, Addr: address, Token: im.ID, B: b, N: 1, First: 1, Status: cells.Queued, Handle: im.ID},
			p: p, cell: cell, max: 1, where: d, imported: true, plan: rw.approval}
		if d == nil || d.Backend != b.Name {
			f.where = f.whereItWas(rw.Plan)
		}
		rw.accounts.setAside(f, nil) // nobody asked for it, and its ceiling counts all the same
		req := p.Requests(0)[p.RequestOf(int(cell), 0)]
		rw.Emit(state.Intended{Job: rw.builder.record(f, req, p.Label(int(cell))), Fresh: true, At: rw.Clock(),
			Attempt: state.Attempt{N: 1, Token: im.ID, Backend: b.Name, Plan: rw.approval, Fence: rw.Session.Fence(), Why: imported,
				Ceiling: f.tab.One, Rates: f.where.Rates(f.where.Shape)}})
		rw.Emit(state.Submitted{Address: address, Token: im.ID, Handle: im.ID, At: rw.Clock()})
		rw.accounts.adopt(f)
	}
}

// moveFiles renames the files of a moved job where its declared paths changed
// and they are on this machine; elsewhere the record goes on pointing to where
// they are.
func (rw *rows) moveFiles(p *phase, cell int32, address string) {
	rec := rw.st.Jobs[address]
	if rec == nil || rec.Status != state.Completed {
		return
	}
	if seen := staging.Follow(p.Phase, int(cell), rec.Outputs, rw.backends.Here); len(seen) > 0 {
		rw.Emit(state.OutputsSeen{Address: address, Outputs: seen, At: rw.Clock()})
	}
}
