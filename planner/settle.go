package planner

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
)

// Settle is the result hash of a job by what is known of its inputs now: of those
// that no phase makes by the digests in Raw, which may have been taken since the
// plan was made, of others by the hashes of their producers.
func (p *Plan) Settle(pp *PhasePlan, cell int) result.Hash {
	h := p.settled(pp, cell)
	return h.With(pp.Phase, cell, func(name string) string { return pp.RawBytes(name, cell) })
}

// SettledSmoke is the fingerprint of a job's smoke in an environment class, by what
// Settle takes.
func (p *Plan) SettledSmoke(pp *PhasePlan, cell int, class string) result.Hash {
	h := p.settled(pp, cell)
	return h.Fingerprint(pp.Phase, cell, class, func(name string) string {
		if name == result.Image {
			return pp.SmokeImage(cell)
		}
		return pp.RawBytes(name, cell)
	})
}

// SettledInputs is InputHashes by what the producers have come to now.
func (p *Plan) SettledInputs(pp *PhasePlan, cell int) map[string]string {
	return inputHashes(p.settled(pp, cell), pp.Phase, cell)
}

func (p *Plan) settled(pp *PhasePlan, cell int) *result.Hasher {
	if p.later == nil {
		sources := map[string]result.Source{}
		for _, ph := range p.Phases {
			if ph.Phase.Source != nil {
				sources[ph.Phase.Source.Key()] = ph.Source
			}
		}
		p.later = result.New(result.Scheme, sources)
		for _, ph := range p.Phases {
			p.later.Known(ph.Phase, ph.Result)
		}
	}
	p.later.Settle(pp.Phase, cell)
	return p.later
}

func inputHashes(h *result.Hasher, p *lang.Phase, cell int) map[string]string {
	if len(p.Inputs) == 0 {
		return nil
	}
	out := make(map[string]string, len(p.Inputs))
	for _, in := range p.Inputs {
		out[in.Name] = h.Input(in, in.GroupOf(cell)).String()
	}
	return out
}
