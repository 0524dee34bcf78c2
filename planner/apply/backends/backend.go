package backends

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// reachBound are the tries after which a backend counts as away: its minted jobs go elsewhere,
// and jobs that it may have are unknown.
const reachBound = 6

// A Contact is one configured place in this run.
type Contact struct {
	connection.Backend
	Lines []*Backend

	load    int // jobs that may run at once of those that it has, on all its queues
	watched bool
	cursor  string // of folded events
	durable string // of durable events
	asking  bool   // its queue, now
	volumes volumes
	// Closed says that it cannot be asked in this run, whatever is waited for: the key is
	// not that of the account which rents its machines.
	Closed bool
	told   []string // which of its hosts cannot be asked and why, since one last answered
}

// A Backend is one queue of a configured place, and what of ours is there:
// the place itself, or one of its hosts where each has a queue of its own.
type Backend struct {
	*Contact
	connection.Feed
	connection.Calls
	Pool     string // "" for all
	Ord      int
	Endpoint *staging.Endpoint // the same, for files
	Down     string            // why it cannot be asked, "" when it can
	Since    time.Time         // since when
	mute     bool              // it says so itself, and until it says otherwise nothing else tells that it can
	reasons  []string          // why it cannot be asked, as they were told since it last answered
	Full     string            // why nothing may start there until its workdir takes files

	share   connection.Load // of the jobs that may run at once
	outbox  []*Attempt      // minted, to be submitted
	quiet   time.Time       // nothing is submitted before; after an error
	tries   int
	looking bool // for all that it has, since its watch lost it
	silent  int  // look-ups in a row that could not say of some job
	// A submission that failed is tried again while muster does not stay: how often it
	// was, and whether it will be in a moment.
	pressed  int
	pressing bool
	catching bool // CatchUp waits for it
	caughtUp bool // since jobs were last submitted to it
	told     bool // in this run, whether it may start jobs
	held     bool // its last order
	untaken  []untaken
}

// An Order is an order to a backend's queue, as messages name it.
type Order string

// The orders.
const (
	HoldOrder    Order = "the hold"
	ReleaseOrder Order = "the release of held jobs"
	LimitsOrder  Order = "the limits of this campaign"
	ResumeOrder  Order = "the resume"
)

// An untaken order did not reach a queue, which has taken none like it since.
type untaken struct {
	order Order
	whole bool // of all its jobs
	why   string
}

// whyAway is the error of a call to a backend that was never configured.
func (b *Backend) whyAway() error {
	return providers.Errorf(providers.Unreachable, "%s", cmp.Or(b.Down, "backend."+b.Name+" is not configured"))
}

// Untaken is why it may not know one of some orders, or an order that would be given now, "" if
// it does.
func (b *Backend) Untaken(orders ...Order) string {
	for _, u := range slices.Backward(b.untaken) {
		if slices.Contains(orders, u.order) {
			return u.why
		}
	}
	return b.Down
}

// took drops the untaken orders that an order which the queue took replaces: those of its kind,
// and, if it is for all jobs, the last one for all jobs; a hold of all jobs replaces every order
// but a resume.
func (b *Backend) took(order Order, whole bool) {
	b.untaken = slices.DeleteFunc(b.untaken, func(u untaken) bool {
		return u.order == order && u.whole == whole || whole && u.order != ResumeOrder && (u.whole || order == HoldOrder)
	})
}

// Lapse drops an untaken hold or release of some jobs, when no job needs it any longer.
func (b *Backend) Lapse(hold bool) {
	order := ReleaseOrder
	if hold {
		order = HoldOrder
	}
	b.took(order, false)
}

// Title is how a backend is spoken of.
func (b *Backend) Title() string { return "backend." + b.FullName() }

// Unsent are the attempts that were minted for it and that it was not asked to take.
func (b *Backend) Unsent() map[*Attempt]bool {
	out := make(map[*Attempt]bool, len(b.outbox))
	for _, f := range b.outbox {
		out[f] = true
	}
	return out
}

// FullName is its name in the state: BACKEND, or BACKEND/POOL.
func (b *Backend) FullName() string { return providers.At(b.Name, b.Pool) }

// Answers reports whether it did when it was last asked.
func (b *Backend) Answers() bool { return b.Provider != nil && b.tries == 0 }

// Away reports whether a backend cannot be asked, and has been given time.
func (b *Backend) Away() bool { return b.Provider == nil || b.tries >= reachBound }

// Starts reports whether a backend starts jobs by itself.
func (b *Backend) Starts() bool { return b.Can.HostQueue || b.Can.Dependencies }

// Takes reports whether a backend takes one more job of a pool, with limits of
// its own and under a throttle, now. Asleep are its jobs that must not start.
func (cs *core) Takes(b *Backend, pool string, own offer.Limits, under connection.Throttle, asleep int) bool {
	if !b.Answers() || cs.Time.Now().Before(b.quiet) {
		return false
	}
	return b.Feed.Takes(&b.Backend, pool, own, cs.Stays, asleep, b.load+b.share.More(under, 1))
}

// Sending reports whether a call is under way, or a submission waits to be
// sent. When nothing may be sent any more, those that wait do not count.
func (cs *core) Sending(mute bool) bool {
	for _, b := range cs.Queues {
		if !b.Idle() || len(b.outbox) > 0 && !mute && b.tries < reachBound {
			return true
		}
	}
	return false
}

// Outgoing reports whether something waits for events that are not durable yet.
func (cs *core) Outgoing() bool {
	for _, b := range cs.Queues {
		if len(b.outbox) > 0 || b.Queued() {
			return true
		}
	}
	return false
}
