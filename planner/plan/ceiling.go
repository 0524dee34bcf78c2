package plan

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/launches"
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
	return text(launches.Ceiling(pp.Decision(cell), pp.Phase.Retry, p.live.Pools))
}

// SmokeCeiling is the most one smoke of a phase may cost: it has one launch.
func (p *Plan) SmokeCeiling(phase string) (amounts state.Amounts, known bool) {
	pp := p.Phase(phase)
	if pp == nil || pp.Smoke == nil {
		return nil, false
	}
	return text(launches.Ceiling(pp.Smoke.Place, lang.Retry{}, p.live.Pools))
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

func text(in map[string]decimal.Decimal, known bool) (state.Amounts, bool) {
	return amount.Texts(in), known
}
