package planfile

import (
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
)

// Bind joins the plan with the campaign it was made from, so that it can be
// driven. The campaign must have passed Check.
func (f *File) Bind(c *lang.Campaign) (*planner.Plan, diag.List) {
	var l diag.List
	h := f.Head
	p := &planner.Plan{
		ID: h.ID, Body: h.Body, Campaign: h.Campaign, Digest: h.Digest, Lineage: h.Lineage, Serial: h.Serial, Now: h.Now, Reason: h.Reason, Destroy: h.Options.Destroy,
		Backends: h.Backends, Transfers: h.Transfers, Notes: h.Notes, Forecast: h.Forecast, Budgets: h.Budgets, Ceiling: h.Ceiling, Asks: h.Asks, Second: h.Second, Counts: h.Counts,
	}
	p.WithFaster(h.Faster)
	p.WithRisks(h.Risks)
	byName := map[string]*lang.Phase{}
	for _, ph := range c.Phases {
		byName[ph.Name] = ph
	}
	for i, head := range h.Phases {
		phase := byName[head.Name]
		if phase == nil || phase.Len() != head.Cells {
			l.Errorf("The plan does not fit the campaign", "Phase %q has %s in the plan. Plan again.", head.Name, amount.Jobs(head.Cells))
			continue
		}
		p.Phases = append(p.Phases, f.phases[i].bind(head, phase))
	}
	for _, r := range h.Loose {
		p.Loose = append(p.Loose, planner.Row{Kind: r.Kind, Address: r.Address, Backend: r.Backend, Release: r.Release, Orphan: r.Orphan, PerHour: r.PerHour, Away: r.Away, Detail: r.Detail.plan()})
	}
	for _, w := range h.Warnings {
		p.Diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: w.Summary, Detail: w.Detail, Address: w.Address})
	}
	return p, l
}

func (c *columns) bind(head Phase, phase *lang.Phase) *planner.PhasePlan {
	pp := &planner.PhasePlan{
		Phase: phase, Kind: c.kind, Result: c.result, Place: c.place, Details: make(map[int]planner.Detail, len(c.details)),
		Placements: head.Placements, After: head.After, Smoke: head.Smoke, Pilot: head.Pilot, Hold: head.Hold, Reread: head.Reread, Source: head.Source, Images: head.Images, SmokeImages: head.SmokeImages, ImageStamps: head.ImageStamps, Raw: head.Raw,
	}
	for i, d := range c.details {
		pp.Details[i] = d.plan()
	}
	return pp
}
