package ledger

import (
	"maps"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An Ask holds the facts that decide the possible cost of a job.
type Ask struct {
	Where    *place.Decision // nil: only the record is known
	Recorded state.Amounts   // with its attempt; nil: nothing is
	Planned  offer.Shape     // of a first launch
	Charged  *Tariff         // as recorded with its attempt; nil: as it is placed
	Now      *offer.Shape    // of the launch at hand; nil: as planned
	Left     int             // launches
	// Retry is the policy by which its queue launches it again, and grows it;
	// Max counts from the first launch, and Before are over by now.
	Retry  lang.Retry
	Before int
	Pool   offer.Pool
}

// Prices are the costs of placements, each worked out once.
type Prices map[*place.Decision]Dues

// Dues is the most that a job may still cost: as recorded with its attempt, or
// from its placement.
func (ps Prices) Dues(a Ask) Dues {
	left := int64(a.Left)
	if a.Where == nil {
		return Dues{One: a.Recorded, Each: Parse(a.Recorded), Left: left}
	}
	shape := a.Planned
	first := a.Now == nil || alike(*a.Now, shape)
	cached := first && a.Recorded == nil && a.Charged == nil
	if d, ok := ps[a.Where]; ok && cached && len(d.Steps) == 0 {
		d.Left = left
		return d
	}
	if !first {
		shape = *a.Now // grown
	}
	t := TariffOf(a.Where)
	if a.Charged != nil {
		t = *a.Charged
	}
	d := Dues{One: t.Ceiling(shape), Left: left, Open: t.Open(shape)}
	if a.Recorded != nil {
		d.One = mostOf(a.Recorded, t.Ceiling(shape)) // its charge may not have been known when it was launched
	}
	d.Each = Parse(d.One)
	if len(a.Retry.Scale) > 0 {
		policy := a.Retry
		if !first {
			policy.Max -= a.Before // this launch is the first of those to come
		}
		if d.Steps = t.Ceilings(ceiling.Shapes(shape, policy, a.Pool)); d.Steps != nil {
			d.Left = min(left, int64(len(d.Steps)))
		}
	}
	if cached {
		ps[a.Where] = d
	}
	return d
}

// mostOf is the amount set aside, with the units that it lacks at today's prices.
func mostOf(recorded, now state.Amounts) state.Amounts {
	out := maps.Clone(now)
	maps.Copy(out, recorded)
	return out
}

// alike reports whether two shapes are charged alike.
func alike(a, b offer.Shape) bool {
	return a.Walltime == b.Walltime && a.GPUs == b.GPUs && a.CPUs == b.CPUs && a.Nodes == b.Nodes && max(a.Pack, 1) == max(b.Pack, 1) && a.Beside() == b.Beside()
}

// Dearer reports whether a launch of this shape may cost more at today's prices than was set
// aside for it.
func (t *Tab) Dearer(now Tariff, s offer.Shape) bool {
	most := Parse(now.Ceiling(s))
	for u := range most {
		if u == nodeHours && t.Each[u] == 0 { // launched before they were counted
			continue
		}
		if most[u] > t.Each[u] {
			return true
		}
	}
	return false
}
