package forecast

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An Input is everything a forecast depends on.
type Input struct {
	Now         time.Time
	MaxParallel int // of the campaign; 0 = no cap
	Phases      []Phase
	Backends    []*lang.Backend
	Pools       []offer.Pool
	Quotes      []place.Quoted
	Scopes      []Scope // what budgets want summed
	Transfers   []Transfer
}

// A Phase is what will run of one phase, columns by job: Cells ascending, and
// beside each its index into Groups.
type Phase struct {
	Phase   *lang.Phase
	Cells   []int32
	Group   []uint16
	Groups  []Group // index 0 is unused
	Edges   []Edge
	Smokes  []int32 // cells whose smoke runs first
	Smoke   Group   // of the smokes
	Pilot   []int32 // cells that run alone, after the smokes
	Running []Running
	// Past are the phase's records, by address: evidence for runtimes.
	Past []*state.Job
	// Validated are passed smokes of the phase, with their elapsed time.
	Validated []state.Validation
}

// A Group is like jobs of one phase and where they go.
type Group struct {
	Jobs     int
	Attempts int // most launches of one job
	Decision place.Decision
}

// An Edge orders jobs after those of an earlier phase. A producer cell that is
// not among the producer's Cells or Running is done.
type Edge struct {
	From  int         // index into Input.Phases
	Input *lang.Input // nil: depends_on, after the whole phase
}

// A Running job is in flight already and counts at its ceiling.
type Running struct {
	Cell     int32
	Backend  string
	Pool     string
	Queued   bool
	Started  time.Time
	Ceiling  state.Amounts // of the attempt, as approved
	Walltime time.Duration
}

// A Scope is a set of jobs whose cost is wanted: those of any of the phases
// or on any of the backends; empty = everything.
type Scope struct {
	Name     string
	Phases   map[string]bool
	Backends map[string]bool
}

// A Transfer delays the consumer phase.
type Transfer struct {
	Phase    string // consumer
	From, To string // backends
	Bytes    int64  // -1 = unknown
}
