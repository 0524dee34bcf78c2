package planner

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
)

// A Settler hashes the jobs of a run by the digests of their inputs: those that no phase makes
// have theirs in Raw, which may be newer than the plan, others the hashes of their producers.
// It belongs to one run: a rehearsal has many of one plan at a time.
type Settler struct {
	phases []*PhasePlan
	left   func(in *lang.Input, producer int) bool
	hasher *result.Hasher // nil until it is asked
}

// NewSettler hashes by the results of a run's own phases. left reports the producers that
// readers of an input go on without; nil: none.
func NewSettler(phases []*PhasePlan, left func(in *lang.Input, producer int) bool) *Settler {
	return &Settler{phases: phases, left: left}
}

// Result is the result hash of a job.
func (s *Settler) Result(pp *PhasePlan, cell int) result.Hash {
	h := s.settled(pp, cell)
	return h.With(pp.Phase, cell, func(name string) string { return pp.RawBytes(name, cell) })
}

// Smoke is the fingerprint of a job's smoke in an environment class.
func (s *Settler) Smoke(pp *PhasePlan, cell int, class string) result.Hash {
	h := s.settled(pp, cell)
	return h.Fingerprint(pp.Phase, cell, class, func(name string) string {
		if name == result.Image {
			return pp.SmokeImage(cell)
		}
		return pp.RawBytes(name, cell)
	})
}

// Inputs is InputHashes by the current results of the producers.
func (s *Settler) Inputs(pp *PhasePlan, cell int) map[string]string {
	return inputHashes(s.settled(pp, cell), pp.Phase, cell)
}

func (s *Settler) settled(pp *PhasePlan, cell int) *result.Hasher {
	if s.hasher == nil {
		sources := map[string]result.Source{}
		for _, ph := range s.phases {
			if ph.Phase.Source != nil {
				sources[ph.Phase.Source.Key()] = ph.Source
			}
		}
		s.hasher = result.New(result.Scheme, sources)
		for _, ph := range s.phases {
			s.hasher.Known(ph.Phase, ph.Result)
		}
		s.hasher.Leave(s.left)
	}
	s.hasher.Settle(pp.Phase, cell)
	return s.hasher
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
