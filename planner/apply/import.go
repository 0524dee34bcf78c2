package apply

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// imported is the reason recorded with the attempt of a job that was started
// without muster.
const imported = "imported"

// adoptImport takes a job over that was started without muster.
func (e *engine) adoptImport(p *phase, cell int32) {
	address := p.Address(int(cell))
	if e.byJob[address] != nil {
		return // an intent whose job arrived: its flight is there
	}
	for i := range e.Campaign.Imports {
		im := &e.Campaign.Imports[i]
		if im.To != address {
			continue
		}
		b := e.fleet.At(strings.TrimPrefix(im.Backend, "backend."), "")
		if b == nil {
			continue
		}
		d := p.places.On(cell, b.Name, "")
		f := &flight{Flight: fleet.Flight{Key: address, Addr: address, Token: im.ID, B: b, N: 1, First: 1, Status: cells.Queued, Handle: im.ID},
			p: p, cell: cell, max: 1, where: d, imported: true, plan: e.approval}
		if d == nil || d.Backend != b.Name {
			f.where = e.whereItWas(f)
		}
		e.setAside(f, nil) // nobody asked for it, and what it may cost counts all the same
		req := p.Requests(0)[p.RequestOf(int(cell), 0)]
		e.emit(state.Intended{Job: e.record(f, req, p.Label(int(cell))), Fresh: true, At: e.Clock(),
			Attempt: state.Attempt{N: 1, Token: im.ID, Backend: b.Name, Plan: e.approval, Fence: e.Session.Fence(), Why: imported,
				Ceiling: f.tab.One, Rates: f.where.Rates(f.where.Shape)}})
		e.emit(state.Submitted{Address: address, Token: im.ID, Handle: im.ID, At: e.Clock()})
		e.adopt(f)
	}
}

// verifyImport checks what a job left that no wrapper of ours looked after.
func (e *engine) verifyImport(f *flight, o *offer.Observation, n int) {
	kept := *o
	at := f.spot()
	r, diags := f.p.Render(int(f.cell), lang.Site{Workdir: at.Workdir, Backend: f.B.Name, Pool: f.Pool, SourceDir: source.In(at.Workdir, f.p.source),
		Input: func(name string) []string { return e.inputPaths(f, name) }})
	if diags.HasErrors() {
		e.importFailed(f, &kept, n, diags.Err().Error())
		return
	}
	job := providers.Job{Workdir: at.Workdir}
	sheet.FillFiles(&job, f.p.Phase, r, func(name string) []string { return e.inputPaths(f, name) })
	f.mark(cells.Verifying)
	var got []offer.Output
	var err error
	f.B.Call(func() {
		got, err = f.B.Provider.Verify(e.Context(), providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Outputs: job.Outputs, Open: true})
	}, func() {
		switch {
		case e.flights[f.Token] != f || err != nil && line.ClassOf(err) == "":
		case err != nil:
			e.fleet.Unreachable(f.B, err)
			e.Later(line.BackoffMax, func() {
				if e.flights[f.Token] == f {
					e.verifyImport(f, &kept, n)
				}
			})
		default:
			e.judgeImport(f, &kept, n, got)
		}
	})
}

func (e *engine) judgeImport(f *flight, o *offer.Observation, n int, got []offer.Output) {
	for _, out := range got {
		if !out.OK {
			e.importFailed(f, o, n, "output "+out.Name+": "+out.Verdict)
			return
		}
	}
	o.Outputs = got
	e.succeeded(f, o, n)
}

func (e *engine) importFailed(f *flight, o *offer.Observation, n int, why string) {
	o.Status, o.Class, o.Reason = offer.Failed, failure.MissingFile, why
	e.failedAttempt(f, o, n)
}
