// Package freight sees that what jobs read lies where they run: the outputs of
// other jobs, moved where the two do not see the same files, and the source of
// their phase. It owns what is on its way, and knows nothing of how jobs are
// started; who waits for something is told when it is there.
package freight

import (
	"context"
	"iter"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/state"
)

// A Run is what freight needs of the run that it works for. All of it is called
// in the loop.
type Run struct {
	line.Loop
	Ctx      context.Context // of all transfers
	Campaign *lang.Campaign
	State    *state.State // read alone; what changes goes through Emit
	Fence    uint64
	Holder   string
	Emit     func(state.Event)
	Note     func(address, text string, bad bool)
	Now      func() time.Time
	Later    func(time.Duration, func()) // in the loop, unless the run ends before
	Places   func() iter.Seq[*line.Place]
	At       func(name, pool string) *Berth // nil when the place is not in this run
	Ask      func(*Berth)                   // has its place say anew what it has
	Stopped  func() bool                    // nothing new begins
	Billed   func(Fare) bool                // whether its place bills a move
	Pay      func(Fare) error               // counts what a move is billed, before it begins; an error where that is not covered

	HandsOver bool // jobs may be handed over before what they read is there
	Play      bool // sources are taken as copied
	Detached  bool // muster leaves: copies of earlier runs are taken at their word
}

// A Berth is a queue of a place, and how its trouble is told.
type Berth struct {
	*line.Place
	*line.Calls
	Title string
	Lost  func(error) // it cannot be asked
	Back  func()      // it answered
}

// known reports whether it is known where the jobs of a pool leave their files:
// what ~ is there, and which files it shares, its host has to say first.
func (b *Berth) known(pool string) bool {
	if b.Provider == nil {
		return false
	}
	_, answers := b.Pools[pool]
	return answers || !b.Splits()
}

// Freight is all that is on its way in one run. Only the loop touches it.
type Freight struct {
	Run
	lanes     map[string]*lane // by the spots they join
	cargoes   map[cargoKey]*cargo
	delayed   int   // cargoes that are tried again later
	asking    int   // globs being looked up
	oneSpot   *bool // see Together; nil: to be worked out
	shipments map[shipmentKey]*Shipment
	shippings int // of these, on their way
}

// New is a freight with nothing on its way.
func New(r Run) *Freight {
	return &Freight{Run: r, lanes: map[string]*lane{}, cargoes: map[cargoKey]*cargo{}, shipments: map[shipmentKey]*Shipment{}}
}

// Met notes that a place said anew what it has.
func (fr *Freight) Met() { fr.oneSpot = nil }

// Moving reports whether files move, or an answer about some is awaited.
func (fr *Freight) Moving() bool { return fr.Transferring() || fr.Shipping() || fr.Asking() }

// Asking reports whether some cell waits for an answer about its inputs.
func (fr *Freight) Asking() bool { return fr.asking > 0 }
