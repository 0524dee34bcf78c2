package planner

import (
	"github.com/muster-run/muster/planner/place"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// A Plan is a list of actions, their reasons, and their possible cost.
type Plan struct {
	ID       string // from the content: the same plan has the same id
	Body     string // digest of its actions, whenever it was made; see IDOf
	Campaign string
	About    string // the campaign's description
	Digest   string // campaign digest
	Lineage  string
	Serial   uint64
	Now      time.Time
	Reason   string
	Destroy  bool
	// RefreshOnly plans start nothing: they update records of submitted jobs.
	RefreshOnly bool

	Backends  []BackendView
	Phases    []*PhasePlan // in campaign order
	Touched   []Touched    // files that hold the same bytes under another stamp
	Loose     []Row        // rows about jobs that are not wanted, and about resources
	Transfers []transfers.Transfer
	Deletions []Deletion
	Notes     []string // assumptions and what holds with muster off
	Dangers   []string // those of Notes that tell when a platform deletes, ends or bills something
	// Unattended are the phases that start nothing by themselves while muster is closed.
	Unattended []string

	Forecast forecast.Forecast
	Budgets  []budget.Check
	Ceiling  state.Amounts // the smaller of at most and the budgets, by unit
	Asks     []string      // why a flag does not approve this plan and a saved plan or a typed yes must
	Second   SecondLook
	Counts   Counts
	Diags    diag.List

	live  Live
	tried *[]Faster // changes that would end it sooner, once worked out
	risks *[]Risk   // of a plan that was read from a file
}

// Live answers further questions about a plan, as long as the process lives that made it. A
// plan that was read from a file has none of it.
type Live struct {
	Hash    *result.Hasher
	Faster  func() []Faster // changes that would end it sooner
	Assumed func() forecast.Input
	Today   func(phase string, cell int, backend, pool string) (place.Decision, bool)
}

// Today is how a job of a phase would be charged on a pool if it were submitted
// now; ok is false where that is not known.
func (p *Plan) Today(phase string, cell int, backend, pool string) (d place.Decision, ok bool) {
	if p.live.Today == nil {
		return d, false
	}
	return p.live.Today(phase, cell, backend, pool)
}

// Keep gives a plan its Live part.
func (p *Plan) Keep(l Live) { p.live = l }

// Of are the addresses of the wanted jobs that a plan does one thing with.
func (p *Plan) Of(kind Kind) []string {
	var out []string
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k == kind {
				out = append(out, pp.Phase.Address(i))
			}
		}
	}
	return out
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

// Touched are outputs of a job as they are found: their bytes are as recorded.
type Touched struct {
	Address string
	Outputs []state.Output
}

// A Row is an action outside the wanted cells.
type Row struct {
	Kind    Kind
	Address string
	Backend string
	Detail  Detail
	Release bool // a rented resource
	Orphan  bool // the state does not know it; with Release, a person named it
	PerHour string
	Away    bool // a rented machine whose backend cannot be asked
}

// Machine reports whether a row is about a rented machine, and not about a job.
func (r *Row) Machine() bool { return r.Release || r.Away || r.PerHour != "" }

// A Deletion is one recorded output that is deleted from where it is.
type Deletion struct {
	Address string // of the job
	Output  string
	Backend string
	Path    string // relative to Workdir
	Workdir string // "" = the backend's
	Bytes   int64
	Files   int // more than one for a folder or a glob
	Glob    bool
}
