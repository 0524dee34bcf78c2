package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// JobCeiling is the most one job may cost: every launch at its full walltime
// on the dearest approved candidate. known is false when a price is not known,
// and then money is absent.
func (p *Plan) JobCeiling(phase string, cell int) (amounts state.Amounts, known bool) {
	pp := p.Phase(phase)
	if pp == nil {
		return nil, false
	}
	return text(launches.Ceiling(pp.Decision(cell), pp.Phase.Retry, p.pools))
}

// SmokeCeiling is the most one smoke of a phase may cost: it has one launch.
func (p *Plan) SmokeCeiling(phase string) (amounts state.Amounts, known bool) {
	pp := p.Phase(phase)
	if pp == nil || pp.Smoke == nil {
		return nil, false
	}
	return text(launches.Ceiling(pp.Smoke.Place, lang.Retry{}, p.pools))
}

// Unbounded names the phases whose jobs start without a walltime: nothing
// bounds what they may take.
func (p *Plan) Unbounded() []string {
	var out []string
	for _, pp := range p.Phases {
		seen := false
		for i, k := range pp.Kind {
			if seen = k.Starts() && pp.Decision(i).Backend != "" && pp.Decision(i).Shape.Walltime == 0; seen {
				break
			}
		}
		if seen {
			out = append(out, "phase."+pp.Phase.Name)
		}
	}
	return out
}

// howToKnow says what would make an unknown cost known: hours are bounded by
// a walltime, and money and service units need a price as well.
func (m *maker) howToKnow(unit string) string {
	names := m.plan.Unbounded()
	for _, w := range m.works {
		if name := "phase." + w.p.Name; w.flyingUnbounded() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch after := m.unweighed(); {
	case len(names) > 0:
		return "write a walltime in resources of " + strings.Join(names[:min(len(names), 5)], ", ")
	case unit == place.USD && after != "":
		return fmt.Sprintf("what files weigh that leave a backend which bills them is known once phase.%s has made them: apply it first, with -target=phase.%[1]s", after)
	case (unit == place.USD || unit == place.ServiceUnits) && m.waitUnknown():
		return "the queue is billed there (bills_while_queued) and how long the wait is, is not known: it is once jobs of this campaign have waited, or name another backend"
	case unit == place.USD || unit == place.ServiceUnits:
		return "write a price on the backend"
	}
	return "write a walltime in resources"
}

// unweighed is a phase whose files are billed when they leave, and of which
// nobody knows how large they will be; "" if there is none.
func (m *maker) unweighed() string {
	for _, o := range m.moves {
		if o.Expected == "" {
			return o.Phase
		}
	}
	return ""
}

// waitUnknown reports whether jobs go to where the queue is billed and nobody
// knows how long that is.
func (m *maker) waitUnknown() bool {
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			if d.Price.BillsWhileQueued && !d.Price.Known {
				return true
			}
		}
	}
	return false
}

// flyingUnbounded reports whether a job is with its backend without a walltime.
func (w *work) flyingUnbounded() bool {
	for i, k := range w.pp.Kind {
		if (k == Continue || k == UnknownAt || k == Adopt) && w.reqs[w.p.RequestOf(i, lang.Run)].Shape.Walltime == 0 {
			return true
		}
	}
	return false
}

// Phase finds a phase of the plan by name.
func (p *Plan) Phase(name string) *PhasePlan {
	for _, pp := range p.Phases {
		if pp.Phase.Name == name {
			return pp
		}
	}
	return nil
}

func text(in map[string]decimal.Decimal, known bool) (state.Amounts, bool) {
	return amount.Texts(in), known
}

// requestOf is a cell's request as a run.
func requestOf(p *lang.Phase, cell int) lang.Request {
	return p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)]
}
