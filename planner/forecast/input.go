package forecast

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// An Input is everything a forecast depends on.
type Input struct {
	Phases      []Phase // producers before consumers
	Pools       []offer.Pool
	SubmitDelay time.Duration  // from the yes to the first submission
	CampaignCap int            // most jobs queued or running at once; 0 = no cap
	BackendCaps map[string]int // the same by backend
	// Driven are backends that are handed no more jobs of a pool than it runs at
	// once: they have no queue that goes on alone, and no arrays.
	Driven map[string]bool
	// Shared are backends whose machines serve one job after another.
	Shared    map[string]bool
	Scopes    []Scope    // the sums that budgets need
	Moves     []Move     // files that leave a backend which bills them
	Transfers []Transfer // files moved to their readers
}

// Never is the group of a cell that waits for something held: whoever waits
// for it waits, too.
const Never = math.MaxUint16

// A Phase is the remaining work of one phase.
type Phase struct {
	Name      string
	Inputs    []Edge   // the producers for which its cells wait, cell by cell
	Legs      [][]Leg  // by input: the parts that have to be moved first; nil = none
	DependsOn []string // phases it waits for as a whole

	Of     []uint16 // by cell: index into Groups; 0 = nothing to do, or Never
	Groups []Group  // index 0 is unused
	Cap    int      // most jobs queued or running at once; 0 = no cap

	Smoke    []int // cells whose smoke runs first
	SmokeJob Group
	Parallel bool  // smokes run beside one another
	Pilot    []int // cells that run alone, after the smokes
}

// An Edge is an input: groups of the phase's cells read the same producers.
type Edge struct {
	From string // producer phase; "" = none, and the edge is there for its legs
	Join Join

	Partial bool // the cells go on without producers that never end
}

// A Join says which producers each cell waits for; lang.Input is one.
type Join interface {
	Groups() int
	GroupOf(cell int) int    // of a consumer
	Members(group int) []int // producers
}

var _ Join = (*lang.Input)(nil)

// NewPhase is a phase of a campaign with its edges and its cap, and nothing
// to do yet.
func NewPhase(p *lang.Phase) Phase {
	out := Phase{Name: p.Name, DependsOn: p.DependsOn, Cap: p.MaxParallel}
	for _, in := range p.Inputs {
		out.Inputs = append(out.Inputs, Edge{in.From.Name, in, in.Partial()})
	}
	return out
}

// A Group is like jobs of one phase and where they go.
type Group struct {
	Decision place.Decision
	Dearer   []Dear // of the approved candidates, for at most
	Runtime  Runtime
	Launches int           // most launches of one job
	Shapes   []offer.Shape // of these, where retries scale; nil = all as decided
	Failing  float64       // share of launches seen to fail and be retried
	Lost     time.Duration // how long such a launch ran; 0 = not known: as long as any
	Delay    time.Duration // before the next launch
	Turn     time.Duration // from the end of a job to the start of the next in its place
	TurnP90  time.Duration // nine in ten of these stay below it; 0 = Turn
	// WaitSpread is the standard deviation of the logarithm of the wait; 0 = all
	// wait alike.
	WaitSpread float64
	Running    time.Duration // how long its jobs have run already
	// Launch is how long one launch may last where the next continues its work, and
	// Again its measured wait in the queue; 0 = a job is one launch, except for
	// failures.
	Launch, Again time.Duration
	// Aside is the reservation of a launch, by unit, of jobs whose place does not answer for
	// its charge; nil elsewhere.
	Aside map[string]string
	// InFlight says that the jobs run on their backend: they hold their resources, and wait
	// for no gate and no producer. Queued says that their backend has them, and they wait: for
	// their turn, room, and inputs.
	InFlight, Queued bool

	alike float64         // of how many jobs of its phase the runtimes average out
	fill  decimal.Decimal // by how much nodes exceed the shares of its jobs; zero = by nothing
	share *share          // of rented machines; nil = none
}

// A Dear is where jobs may go, too, and cost more in some unit than where they do.
type Dear struct {
	Decision place.Decision
	Shapes   []offer.Shape // of the launches there, as of a group
}

// StillQueued is a group whose jobs have waited in their backend's queue for so
// long. The site bills the whole wait all the same.
func (g Group) StillQueued(waited time.Duration) Group {
	g.Queued = true
	if !g.Decision.Price.BillsWhileQueued && g.Decision.Wait > 0 {
		g.Decision.Wait = max(g.Decision.Wait-waited, 0)
	}
	return g
}

// A Runtime is how long one launch takes, and how that is known.
type Runtime struct {
	Expected time.Duration // the mean over many launches
	Median   time.Duration // half of them stay below it: the start of a draw
	P90      time.Duration // nine in ten stay below it
	Ceiling  time.Duration // the walltime; 0 = not stated
	Mark     Mark
	Seen     int // runs that it is from; 0 = none was seen, and all are off together
	Basis    string

	shape *shape // nil: lognormal
}

// A Scope is a set of jobs whose cost is wanted: those of any of the phases
// or on any of the backends; empty = everything.
type Scope struct {
	Name     string
	Phases   map[string]bool
	Backends map[string]bool
}

// holds reports whether a job counts in the scope.
func (s Scope) holds(phase, backend string) bool {
	return len(s.Phases)+len(s.Backends) == 0 || s.Phases[phase] || s.Backends[backend]
}
