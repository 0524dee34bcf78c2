package apply

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// reuse gives jobs results that exist already: earlier ones that are put back, and
// files that a person adopts.
type reuse struct {
	*jobs
	builder *builder
}

// A comeback is a cell that gets an earlier result back.
type comeback struct {
	p       *phase
	cell    int32
	from    *planner.Restorable
	request staging.Restoration
}

// restoreResults puts back the results that the plan restores, before anything
// starts. A cell whose result is not there any more as it was recorded stays as it
// is, and no job runs for it: the approval names no run of it.
func (ru *reuse) restoreResults() {
	by, used := map[site.Filesystem][]comeback{}, map[string]bool{}
	var order []site.Filesystem
	for _, p := range ru.phases {
		for i, k := range p.plan.Kind {
			if k != planner.Restore || ru.halted == progress.Beyond {
				continue
			}
			c, spot, why := ru.comeback(p, int32(i), used)
			if why != "" {
				ru.notRestored(p, int32(i), why)
				continue
			}
			if by[spot] == nil {
				order = append(order, spot)
			}
			by[spot] = append(by[spot], c)
		}
	}
	for _, spot := range order {
		ru.restoreAt(spot, by[spot])
	}
}

// comeback prepares one cell, or says why it cannot have its result back.
func (ru *reuse) comeback(p *phase, cell int32, used map[string]bool) (c comeback, at site.Filesystem, why string) {
	i := int(cell)
	if rec := ru.st.Jobs[p.Address(i)]; ru.byJob[p.Address(i)] != nil || rec != nil && rec.InFlight() {
		return c, at, "a launch of it is under way"
	}
	r := planner.RestoreOf(ru.st, p.Phase, i, p.plan.Result[i], func(string) bool { return true }, used)
	if r == nil {
		return c, at, "the state does not keep it any more"
	}
	used[r.Token()] = true
	backend, pool := r.Job.Outputs[0].Backend, ""
	if last := r.Job.Last(); last != nil && last.Backend == backend {
		pool = last.Pool
	}
	b := ru.backends.At(backend, pool)
	if b == nil || b.Provider == nil {
		return c, at, "backend." + backend + " cannot be reached"
	}
	at = b.Filesystem(pool)
	address := p.Address(i)
	rec := ru.st.Jobs[address]
	w := staging.Restoration{Result: r.Replaced, Workdir: at.Workdir, Guard: planner.OwnFiles(rec, ru.st.Earlier[address], at.Workdir)}
	w.Guard.Replace = p.plan.Detail(i).Foreign
	w.Shared = func(output string) bool {
		return slices.ContainsFunc(p.Outputs, func(d *lang.Output) bool { return d.Name == output && d.Shared })
	}
	if w.Aside = jobspec.AsideOf(rec, ""); w.Aside == "" {
		w.Aside = path.Join(".muster", "replaced", ru.Mint())
	}
	for k := range r.Job.Outputs {
		w.Paths = append(w.Paths, p.OutputPath(i, r.Job.Outputs[k].Name, lang.Run))
	}
	return comeback{p, cell, r, w}, at, ""
}

// restoreAt puts results back that are on one spot.
func (ru *reuse) restoreAt(at site.Filesystem, all []comeback) {
	b := ru.backends.At(providers.CutAt(at.Name()))
	requests := make([]staging.Restoration, len(all))
	for i := range all {
		requests[i] = all[i].request
	}
	done := ru.report.Slow("putting results back on backend." + at.Name())
	outs, errs := staging.Restorer{Files: b.Provider, Backend: at.Name(), Workdir: at.Workdir}.Back(ru.Context(), requests, ru.Session.Fence(), ru.Session.Holder())
	done()
	for i := range all {
		c := &all[i]
		if errs[i] != nil {
			ru.notRestored(c.p, c.cell, strings.TrimSuffix(providers.WithHint(errs[i]), "."))
			continue
		}
		ru.Emit(state.Reused{Job: ru.builder.identity(c.p, c.cell), From: c.from.From, Token: c.from.Token(), Outputs: outs[i], Folder: c.request.Aside, By: ru.Who, At: ru.Clock()})
	}
	ru.Sync()
}

func (ru *reuse) notRestored(p *phase, cell int32, why string) {
	ru.notPutThere(p, cell, "did not get its earlier result back: "+why)
}

// notPutThere leaves a cell without the result that was to become its own.
func (ru *reuse) notPutThere(p *phase, cell int32, why string) {
	if p.lost == nil {
		p.lost = map[int32]bool{}
	}
	p.lost[cell] = true
	address := p.Address(int(cell))
	ru.Note(address, address+" "+why+". It was not run either; the next `muster apply` plans it again", true)
}

// restoredAs is where a cell that was to get its result back is now.
func (p *phase) restoredAs(cell int32, rec *state.Job) cells.Status {
	if p.lost[cell] || rec == nil || rec.Status != state.Completed || rec.Result != p.resultText(cell, false) {
		return cells.Held
	}
	return cells.Done
}
