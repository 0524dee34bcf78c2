// Package staging moves files to the backends whose jobs read them: outputs of
// other jobs, files that no phase makes, and the source of a phase. Files
// stream from one backend to another, and muster keeps no copy. The package
// owns the transfers of a run, and knows nothing about how jobs start. It also
// puts replaced results back.
package staging

import (
	"context"
	"iter"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/state"
)

// An Engine records and shows the progress of its transfers. Its methods are called in the
// loop.
type Engine interface {
	Emit(state.Event)
	Note(address, text string, bad bool) // shows a line to the user
	Stopped() bool                       // nothing new begins
}

// A Config connects Transfers with the run that it serves.
type Config struct {
	connection.Loop
	Engine
	Ctx      context.Context // of all transfers
	Time     clock.Clock
	Campaign *lang.Campaign
	State    *state.State // only read; changes go through Emit
	Fence    uint64
	Holder   string
	Backends Backends
	Ledger   Ledger

	Digests *digests.Book                // of files that no phase makes; nil: none are taken
	Reads   func(dir, what string) error // see refresh.Input

	SubmitsAhead bool // jobs may be submitted before their inputs are there
	Play         bool // sources are taken as copied
	Detached     bool // muster leaves: copies of earlier runs are taken at their word
}

// Backends are those of a run; see backends.Set.
type Backends interface {
	Places() iter.Seq[*connection.Backend]
	Endpoint(name, pool string) *Endpoint // nil when the place is not in this run
	Ask(*Endpoint)                        // has its place list its pools again
	Lost(*Endpoint, error)                // it cannot be asked
	Answered(*Endpoint)
}

// A Ledger counts the bills of moves.
type Ledger interface {
	Billed(Charge) bool // whether its place bills a move
	Pay(Charge) error   // counts the bill of a move, before it begins; an error where no budget covers it
}

// An Endpoint is a queue of a place, as transfers see it.
type Endpoint struct {
	*connection.Backend
	*connection.Calls
	Title string
}

// known reports whether muster knows where the jobs of a pool leave their
// files: its host has to tell the meaning of ~, and its shared files, first.
func (b *Endpoint) known(pool string) bool {
	if b.Provider == nil {
		return false
	}
	_, answers := b.Pools[pool]
	return answers || !b.Splits()
}

// Transfers is all that is on its way in one run. Only the loop touches it. Each
// part uses only those before it.
type Transfers struct {
	*core
	*outputs
	*readings
	*stores
	*sources
}

// core is shared by every part: the routes between spots, and the known facts about them.
type core struct {
	Config
	routes        map[string]*route  // by the spots they join
	readers       map[string]*reader // by backend, "" for muster's machine
	shipments     map[shipmentKey]*shipment
	delayed       int   // deliveries that are tried again later
	asking        int   // globs being looked up
	oneFilesystem *bool // see Together; nil: to be worked out
	watched       bool  // it is said how far moves are
}

// outputs bring the outputs of other jobs.
type outputs struct {
	*core
	deliveries map[deliveryKey]*delivery
}

// readings take the digests of files that the plan did not read.
type readings struct {
	*core
	readings map[readingKey]*reading
	fresh    bool // digests came that nobody has taken yet
}

// stores bring files that no phase makes.
type stores struct {
	*core
	readings   *readings
	fileCopies map[fileCopyKey]*fileCopy
}

// sources bring the source of phases.
type sources struct {
	*core
	shippings int // shipments that are on their way
}

// New is a run with nothing on its way.
func New(r Config) *Transfers {
	c := &core{Config: r, routes: map[string]*route{}, readers: map[string]*reader{}, shipments: map[shipmentKey]*shipment{}}
	rs := &readings{core: c, readings: map[readingKey]*reading{}}
	return &Transfers{core: c, outputs: &outputs{core: c, deliveries: map[deliveryKey]*delivery{}}, readings: rs,
		stores: &stores{core: c, readings: rs, fileCopies: map[fileCopyKey]*fileCopy{}}, sources: &sources{core: c}}
}

// Moving reports whether files move, or an answer about some is awaited.
func (ts *Transfers) Moving() bool { return ts.Transferring() || ts.sources.Shipping() || ts.Asking() }
