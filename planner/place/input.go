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
	Unasked     map[string]bool   // those of them that nobody tried to ask
	// Begun says that the campaign has run before: jobs without a place for the moment,
	// because it does not answer, wait and stop nothing else.
	Begun  bool
	Urgent bool // the p90 end is less than policy.urgent_within before a deadline
	// Can are the capabilities of each type of backend; they tell rentals apart.
	Can map[string]offer.Capabilities
	// Waited is how long this campaign's jobs stood in the queue of a pool, where
	// that is known; it belongs in for a wait that is not quoted. May be nil.
	Waited func(backend, pool string) (time.Duration, bool)
	Risen  map[PoolAt]Rise // pools that billed more than they quote
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
	Takes      time.Duration // by nine of ten jobs, as measured; 0 = none was
	Checkpoint bool          // walltime may be cut into chained segments
	// Smoke marks smokes, which go to the cheapest pool of the environment
	// class of their phase: backend Within, GPU family Class ("" = any).
	Smoke  bool
	Within string
	Class  string
}
