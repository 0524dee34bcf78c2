package place

import (
	"encoding/json"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// An Input is everything a placement depends on.
type Input struct {
	Groups      []Group
	Backends    []*lang.Backend
	Pools       []offer.Pool
	Quotes      []Quoted
	Policy      lang.Policy
	Unreachable map[string]string // backends that cannot be asked, with the reason
	Urgent      bool              // the p90 end is less than policy.urgent_within before a deadline
	Now         time.Time
}

// A Group is like jobs of one phase: same resources, options and candidates.
type Group struct {
	Phase      *lang.Phase
	Jobs       int                        // that will start
	Shape      offer.Shape                // Options empty: they are by provider type
	Options    map[string]json.RawMessage // by provider type
	Candidates []string                   // backend addresses in order; empty = by the policy table
	Prefer     string
	Expected   time.Duration // of one job, from evidence; 0 = half its walltime
	// Smoke marks smokes, which go to the cheapest pool of Class.
	Smoke bool
	// Class is the environment class a smoke stands for ("" = any); see Class.
	Class string
}

// Class is the environment class of a pool: backend and GPU family. A testing
// pool has the class of the pools it stands for.
func Class(p offer.Pool, pools []offer.Pool) string {
	family := p.GPUClass
	if family == "" {
		family = p.GPUModel
	}
	if len(p.StandsFor) > 0 {
		for _, o := range pools {
			if o.Backend == p.Backend && o.Name == p.StandsFor[0] && len(o.StandsFor) == 0 {
				return Class(o, nil)
			}
		}
	}
	if family == "" {
		return p.Backend
	}
	return p.Backend + "/" + family
}
