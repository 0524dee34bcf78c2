// Package backends owns the backends of a run, their queues, and the jobs
// submitted to them. It opens backends, submits jobs, looks up jobs whose
// submission is uncertain, watches, holds and cancels. It reports News and
// decides nothing about jobs or phases.
package backends

import (
	"context"
	"slices"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An Engine learns the reports of its backends. Its methods are called in the loop.
type Engine interface {
	Hear(News)
	Note(address, text string, bad bool) // shows a line to the user
	Sync() bool                          // makes events durable
}

// A Config connects a Set with the run that it serves.
type Config struct {
	connection.Loop
	Engine
	Ctx      context.Context // of all calls
	Time     clock.Clock
	Campaign *lang.Campaign
	State    *state.State // read alone
	Fence    uint64
	Holder   string
	Provider func(backendType string) (providers.Provider, error)
	Environ  []string // where a local job's environment starts from

	Away  map[string]string // why backends do not answer, as this user has just read
	Stays bool              // the run watches until its jobs are over
}

// A Set is the backends of one run and all that they have. Only the loop touches
// it. Each part uses only those before it.
type Set struct {
	*core
	*outbox
	*lookups
	*endings
	*control
	*submissions
	*watches
	*rooms
	*opening
	*files
}

// core is shared by all parts: the backends, their queues, and the attempts
// that these have or may have.
type core struct {
	Config
	Contacts map[string]*Contact // by name
	Queues   []*Backend          // as they were met
	// Unanswered are questions without whose answers nothing new may start, and
	// nothing that was found may be ended.
	Unanswered int
	Keeping    int // holds of jobs that their backends have not answered
	Opening    int // spare candidates that have yet to answer
	Submitted  int // jobs that were submitted

	byName   map[string]*Backend // by place, and host where hosts have queues of their own
	attempts map[string]*Attempt // by token
	load     int                 // jobs that may run at once of all that were given
}

// New is a set without places.
func New(r Config) *Set {
	c := &core{Config: r, Contacts: map[string]*Contact{}, byName: map[string]*Backend{}, attempts: map[string]*Attempt{}}
	ob := &outbox{core: c}
	ls := &lookups{core: c, outbox: ob}
	es := &endings{core: c, lookups: ls}
	ct := &control{core: c, lookups: ls}
	ss := &submissions{core: c, control: ct, lookups: ls, outbox: ob}
	ws := &watches{core: c, lookups: ls}
	rs := &rooms{core: c, endings: es}
	op := &opening{core: c, endings: es, lookups: ls, watches: ws}
	return &Set{core: c, outbox: ob, lookups: ls, endings: es, control: ct, submissions: ss, watches: ws, rooms: rs, opening: op, files: &files{core: c}}
}

// At is the queue where jobs of a pool go; nil when the place is not in this
// run.
func (cs *core) At(name, pool string) *Backend {
	c := cs.Contacts[name]
	if c == nil {
		return nil
	}
	if !c.Splits() {
		pool = ""
	}
	key := providers.At(name, pool)
	if b := cs.byName[key]; b != nil {
		return b
	}
	b := &Backend{Contact: c, Pool: pool, Ord: len(cs.Queues)}
	b.Endpoint = &staging.Endpoint{Backend: &c.Backend, Calls: &b.Calls, Title: b.Title()}
	cs.byName[key] = b
	cs.Queues = append(cs.Queues, b)
	c.Lines = append(c.Lines, b)
	cs.Hear(Met{})
	b.Slots = b.SlotsOf(pool)
	b.Begin(cs)
	return b
}

// contact takes a place from the campaign, or from the state when it has left
// the campaign.
func (cs *core) contact(name string) (*Contact, error) {
	c := &Contact{Backend: connection.Backend{Name: name}}
	if i := slices.IndexFunc(cs.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == name }); i >= 0 {
		c.Lang = cs.Campaign.Backends[i]
		c.Conf = site.Backend(cs.Campaign, c.Lang, cs.State.Lineage)
	} else if err := c.Recall(cs.State); err != nil {
		return nil, err
	}
	c.Conf.Rented = site.Rented(cs.State, name)
	if c.Conf.Type == "local" {
		c.Conf.Environ = site.Environ(cs.Environ)
	}
	cs.Contacts[name] = c
	return c, nil
}

func (cs *core) greet(c *Contact, a connection.Acquaintance) {
	c.Meet(a)
	cs.stocked(c)
}

// stocked makes a queue of every pool that a place has.
func (cs *core) stocked(c *Contact) {
	for i := range c.Offers {
		cs.At(c.Name, c.Offers[i].Name)
	}
	cs.At(c.Name, "")
	for _, b := range c.Lines {
		b.Slots = c.SlotsOf(b.Pool)
	}
	cs.Hear(Met{})
}

// Unreachable notes that a backend does not answer. That says nothing about its jobs. Each
// reason is shown once, until the backend answers.
func (cs *core) Unreachable(b *Backend, err error) {
	why := providers.WithHint(err)
	reason := providers.Reason(err)
	if b.Down == "" {
		b.reasons, b.Since = nil, cs.Time.Now()
	}
	if !slices.Contains(b.reasons, reason) {
		b.reasons = append(b.reasons, reason)
		cs.Note(b.Title(), b.Title()+" cannot be reached: "+why, true)
	}
	b.Down = err.Error()
}

// speaks is for a backend that says itself that it can be asked again, or has
// said what its jobs do.
func (cs *core) speaks(b *Backend) {
	b.mute = false
	cs.Reachable(b)
}

// Reachable notes an answer. An answer beside its queue, such as taking a file or a job or
// reading a job's record, is no news of a queue that it cannot ask.
func (cs *core) Reachable(b *Backend) {
	if b.mute {
		return
	}
	if _, lost := cs.State.Away[b.FullName()]; lost { // by an earlier run, too
		cs.Hear(Answered{b})
	}
	if b.Down == "" {
		return
	}
	b.Down, b.Contact.told = "", nil
	if _, known := b.Pools[b.Pool]; b.Splits() && b.Pool != "" && !known {
		cs.AskPools(b.Contact)
	}
	cs.Note(b.Title(), b.Title()+" answers again", false)
}

// AskPools has a place list its pools again, since one of its hosts is back.
func (cs *core) AskPools(c *Contact) {
	if c.asking {
		return
	}
	c.asking = true
	var pools []offer.Pool
	var err error
	c.Lines[0].Call(func() {
		ctx, cancel := context.WithTimeout(cs.Ctx, connection.AskTimeout)
		defer cancel()
		pools, err = c.Provider.Pools(ctx, c.Name)
	}, func() {
		c.asking = false
		if err != nil {
			return
		}
		c.Stock(pools)
		cs.stocked(c)
		for _, b := range slices.Clone(c.Lines) {
			if _, known := c.Pools[b.Pool]; known {
				cs.Reachable(b)
			}
		}
	})
}
