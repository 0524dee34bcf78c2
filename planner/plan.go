// Package planner turns a wish and what is known into a plan. It is a pure
// function: it reads no clock, calls nothing and writes nothing, and the same
// inputs give the same plan, byte for byte.
//
//	campaign ──expand──▶ jobs ──┐
//	state ──refresh──▶ attempts ┴─diff─▶ actions ─gate─▶ smoke, pilot, run ─place─▶ placements ─forecast─▶ cost, walltime ─check─▶ plan
package planner

import (
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Input is everything a plan depends on.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Observed Observed
	Pools    []offer.Pool
	Quotes   []place.Quoted
	// Can is what each type of backend can do; a missing type can nothing.
	Can     map[string]offer.Capabilities
	Now     time.Time
	Options Options
}

// Options force or narrow a plan.
type Options struct {
	Targets []string // selections; empty = everything
	Rerun   []string
	Accept  []string
	Destroy bool
	Outputs bool `json:",omitempty"` // with Destroy: delete recorded outputs, too
	// RefreshOnly finds out what happened and plans nothing.
	RefreshOnly bool   `json:",omitempty"`
	Reason      string // given by the person, kept with the plan
}

// Observed is what a refresh found.
type Observed = observed.Refresh

// An Orphan is a rented resource the state does not know.
type Orphan = observed.Orphan

// A Kind is what a plan does with one job. One byte a job.
type Kind uint8

// The kinds, in the order of the diff table.
const (
	None      Kind = iota // unchanged
	Run                   // + run
	Rerun                 // ± re-run
	Restart               // ± cancel and re-run
	Retry                 // ↻ retry
	Resubmit              // ~ resubmit
	Continue              // … continue
	Adopt                 // + adopt
	Move                  // → moved
	Accept                // ≈ accept
	HeldKind              // ! held
	Blocked               // ⊘ blocked
	UnknownAt             // ? unknown: its backend cannot be asked
	Missing               // ? missing
	Bytes                 // ≠ input bytes changed
	Duplicate             // ! duplicate
	Cancel                // - cancel
	Forget                // - forget
	Record                // verify and record what ended while nobody looked
	Skipped               // not selected by -target
	kinds
)

// Starts reports whether an action launches something.
func (k Kind) Starts() bool {
	switch k {
	case Run, Rerun, Restart, Retry, Resubmit:
		return true
	}
	return false
}

// Destroys reports whether an action cancels something or replaces results.
func (k Kind) Destroys() bool { return k == Rerun || k == Restart || k == Cancel }

// A Plan is what will be done, why, and what it may cost.
type Plan struct {
	ID       string // from the content: the same plan has the same id
	Body     string // digest of what it does, whenever it was made; see IDOf
	Campaign string
	About    string // what the campaign is for, as it says
	Digest   string // campaign digest
	Lineage  string
	Serial   uint64
	Now      time.Time
	Reason   string
	Destroy  bool
	// RefreshOnly plans start nothing: they say what became of what was started.
	RefreshOnly bool

	Backends  []BackendView
	Phases    []*PhasePlan // in campaign order
	Loose     []Row        // rows about jobs that are not wanted, and about resources
	Transfers []Transfer
	Deletions []Deletion
	Notes     []string // assumptions and what holds with muster off

	Forecast forecast.Forecast
	Budgets  []BudgetCheck
	Ceiling  state.Amounts // the smaller of at most and the budgets, by unit
	Asks     []string      // why a flag does not approve this plan and a saved plan or a typed yes must
	Counts   Counts
	Diags    diag.List

	hash   *result.Hasher
	pools  []offer.Pool
	faster func() []Faster // works out what would; nil after a plan file
	tried  *[]Faster       // once it was

	assumed func() forecast.Input // nil after a plan file
}

// Counts is the summary line.
type Counts struct {
	Run, Rerun, Cancel, Unchanged           int
	Smoke, Retry, Resubmit, Continue, Adopt int
	Move, Accept, Held, Blocked, Unknown    int
	Missing, Bytes, Forget, Release, Record int
	Delete                                  int // recorded outputs
	Selected, Total                         int
}

// Changes reports whether the plan does anything.
func (c Counts) Changes() bool {
	return c.Run+c.Rerun+c.Cancel+c.Smoke+c.Retry+c.Resubmit+c.Continue+c.Adopt+c.Move+c.Accept+c.Forget+c.Release+c.Record+c.Delete > 0
}

// A PhasePlan is the plan of one phase: columns by cell, and details only
// where there is something to say. About 60 bytes a job.
type PhasePlan struct {
	Phase   *lang.Phase
	Kind    []Kind   // by cell
	Result  []Hash   // result hash by cell
	Place   []uint16 // index into Placements by cell; jobs that do not run have 0
	Details map[int]Detail

	// Placements are the distinct decisions of the phase; index 0 is unused.
	Placements []place.Decision
	Smoke      *Gate
	Pilot      []int // cells still to be run alone first
	Hold       string
	Source     SourceDigest
	// Records are the jobs' records by cell, nil where there is none; nil as a
	// whole when the phase has none.
	Records []*state.Job

	why func(cell int) Detail // works a detail out that is not kept; nil after a plan file
}

// A Detail is why a job gets the action it gets.
type Detail struct {
	Reasons []Reason
	State   *state.Job // the record, if there is one
	From    string     // former address, of a move
	Waits   []string   // addresses it is blocked by
	Text    string     // class and last lines for a held job, the reason for an unknown one
	Destroy bool       // needs approval
	Lacks   []string   `json:",omitempty"` // names of outputs that are missing or broken
	// Same says to submit under the token of the record's intent, which its
	// backend surely does not have.
	Same bool
	// Computed is the hash of the job as written where the plan keeps an older
	// one, because the change is accepted or ignored.
	Computed Hash
}

// A Reason is one cause as data: which field, from what, to what.
type Reason = change.Reason

// A Gate is what a phase's smoke does.
type Gate struct {
	Run      []int // cells whose smoke is still to run
	Passed   []int // cells with a passed fingerprint
	When     time.Time
	Failed   []int
	Waiting  []int // running now
	Place    place.Decision
	Prints   []Hash // fingerprints, in the order of lang.Smoke.Cells
	Text     string // "smoke skipped: same config passed on 2026-09-30 (1f0c22ab93de)"
	Override string
}

// A Row is an action outside the wanted cells.
type Row struct {
	Kind    Kind
	Address string
	Backend string
	Detail  Detail
	Release bool // a rented resource
	PerHour string
}
