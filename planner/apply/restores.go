package apply

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/restore"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/foreign"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A comeback is a cell that gets an earlier result back.
type comeback struct {
	p    *phase
	cell int32
	from *planner.Restorable
	wish restore.Wish
}

// restoreResults puts back the results that the plan restores, before anything
// starts. A cell whose result is not there any more as it was recorded stays as it
// is, and no job runs for it: the approval names no run of it.
func (e *engine) restoreResults() {
	by, used := map[site.Spot][]comeback{}, map[string]bool{}
	var order []site.Spot
	for _, p := range e.phases {
		for i, k := range p.plan.Kind {
			if k != planner.Restore || e.halted == standing.Beyond {
				continue
			}
			c, spot, why := e.comeback(p, int32(i), used)
			if why != "" {
				e.notRestored(p, int32(i), why)
				continue
			}
			if by[spot] == nil {
				order = append(order, spot)
			}
			by[spot] = append(by[spot], c)
		}
	}
	for _, spot := range order {
		e.restoreAt(spot, by[spot])
	}
}

// comeback prepares one cell, or says why it cannot have its result back.
func (e *engine) comeback(p *phase, cell int32, used map[string]bool) (c comeback, at site.Spot, why string) {
	i := int(cell)
	if rec := e.st.Jobs[p.Address(i)]; e.byJob[p.Address(i)] != nil || rec != nil && rec.InFlight() {
		return c, at, "a launch of it is under way"
	}
	r := planner.RestoreOf(e.st, p.Phase, i, p.plan.Result[i], func(string) bool { return true }, used)
	if r == nil {
		return c, at, "the state does not keep it any more"
	}
	used[r.Token()] = true
	backend, pool := r.Job.Outputs[0].Backend, ""
	if last := r.Job.Last(); last != nil && last.Backend == backend {
		pool = last.Pool
	}
	b := e.fleet.At(backend, pool)
	if b == nil || b.Provider == nil {
		return c, at, "backend." + backend + " cannot be reached"
	}
	at = b.Spot(pool)
	address := p.Address(i)
	rec := e.st.Jobs[address]
	w := restore.Wish{Result: r.Replaced, Workdir: at.Workdir, Guard: foreign.Guard(rec, e.st.Earlier[address], at.Workdir)}
	w.Guard.Replace = p.plan.Detail(i).Foreign
	w.Shared = func(output string) bool {
		return slices.ContainsFunc(p.Outputs, func(d *lang.Output) bool { return d.Name == output && d.Shared })
	}
	if w.Aside = sheet.AsideOf(rec, ""); w.Aside == "" {
		w.Aside = path.Join(".muster", "replaced", e.Mint())
	}
	for k := range r.Job.Outputs {
		w.Paths = append(w.Paths, p.OutputPath(i, r.Job.Outputs[k].Name, lang.Run))
	}
	return comeback{p, cell, r, w}, at, ""
}

// restoreAt puts results back that lie on one spot.
func (e *engine) restoreAt(at site.Spot, all []comeback) {
	b := e.fleet.At(providers.CutAt(at.Name()))
	wishes := make([]restore.Wish, len(all))
	for i := range all {
		wishes[i] = all[i].wish
	}
	done := e.report.Slow("putting results back on backend." + at.Name())
	outs, errs := restore.Place{Files: b.Provider, Backend: at.Name(), Workdir: at.Workdir}.Back(e.Context(), wishes, e.Session.Fence(), e.Session.Holder())
	done()
	for i := range all {
		c := &all[i]
		if errs[i] != nil {
			e.notRestored(c.p, c.cell, strings.TrimSuffix(providers.WithHint(errs[i]), "."))
			continue
		}
		e.emit(state.Reused{Job: e.identity(c.p, c.cell), From: c.from.From, Token: c.from.Token(), Outputs: outs[i], Folder: c.wish.Aside, By: e.Who, At: e.Clock()})
	}
	e.sync()
}

// identity is what a job without a launch is recorded under.
func (e *engine) identity(p *phase, cell int32) state.Job {
	i := int(cell)
	j := state.Job{Address: p.Address(i), Phase: p.Name, Axes: p.Axes(i), Name: p.Label(i), Definition: e.define(p), Scheme: planner.Scheme,
		Result: p.resultText(cell, false), Request: planner.Hash(p.Requests(0)[p.RequestOf(i, 0)].Hash).String(), Source: p.plan.Source.Digest}
	if len(p.Inputs) > 0 {
		j.Inputs = e.Plan.InputHashes(p.plan, i)
	}
	return j
}

func (e *engine) notRestored(p *phase, cell int32, why string) {
	if p.lost == nil {
		p.lost = map[int32]bool{}
	}
	p.lost[cell] = true
	address := p.Address(int(cell))
	e.report.Note(address, address+" did not get its earlier result back: "+why+". It was not run either; the next `muster apply` plans it again", true)
}

// restoredAs is where a cell that was to get its result back is now.
func (p *phase) restoredAs(cell int32, rec *state.Job) cells.Status {
	if p.lost[cell] || rec == nil || rec.Status != state.Completed || rec.Result != p.resultText(cell, false) {
		return cells.Held
	}
	return cells.Done
}
