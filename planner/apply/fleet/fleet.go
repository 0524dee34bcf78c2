// Package fleet is the places of a run, their queues, and the jobs that these
// have or may have. It opens them, hands over what was minted, looks for what
// may have arrived, watches, holds and cancels. It knows no phases and decides
// of no job what follows: what it learns goes out as News.
package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Run is what a fleet needs of the run that it works for. All of it is called
// in the loop.
type Run struct {
	line.Loop
	Ctx      context.Context // of all calls
	Time     clock.Clock
	Campaign *lang.Campaign
	State    *state.State // read alone
	Fence    uint64
	Holder   string
	Provider func(backendType string) (providers.Provider, error)
	Environ  []string // where a local job's environment starts from

	Hear  func(News)
	Note  func(address, text string, bad bool)
	Later func(time.Duration, func()) // in the loop, unless the run ends before
	Sync  func()                      // makes durable what was heard
	Stays bool                        // the run watches until its jobs are over
}

// A Fleet is all that backends have in one run. Only the loop touches it.
type Fleet struct {
	Run
	Contacts map[string]*Contact // by name
	Queues   []*Backend          // as they were met
	// Unanswered are questions without whose answers nothing new may start, and
	// nothing that was found may be ended.
	Unanswered int
	Keeping    int // holds of jobs that their backends have not answered
	Opening    int // spare candidates that have yet to answer
	Handed     int // jobs that were submitted

	byName  map[string]*Backend // by place, and host where hosts have queues of their own
	flights map[string]*Flight  // by token
	load    int                 // jobs that may run at once of all that were given
}

// New is a fleet without places.
func New(r Run) *Fleet {
	return &Fleet{Run: r, Contacts: map[string]*Contact{}, byName: map[string]*Backend{}, flights: map[string]*Flight{}}
}

// At is the queue where jobs of a pool go; nil when the place is not in this
// run.
func (fl *Fleet) At(name, pool string) *Backend {
	c := fl.Contacts[name]
	if c == nil {
		return nil
	}
	if !c.Splits() {
		pool = ""
	}
	key := providers.At(name, pool)
	if b := fl.byName[key]; b != nil {
		return b
	}
	b := &Backend{Contact: c, Pool: pool, Ord: len(fl.Queues)}
	b.Berth = &freight.Berth{Place: &c.Place, Calls: &b.Calls, Title: b.Title(),
		Lost: func(err error) { fl.Unreachable(b, err) }, Back: func() { fl.Reachable(b) }}
	fl.byName[key] = b
	fl.Queues = append(fl.Queues, b)
	c.Lines = append(c.Lines, b)
	fl.Hear(Met{})
	b.Slots = b.SlotsOf(pool)
	b.Begin(fl)
	return b
}

// Open gets to know a place before the first turn. One that does not answer
// is asked again later.
func (fl *Fleet) Open(name string) error {
	c, err := fl.contact(name)
	if err != nil {
		return err
	}
	a, err := line.Probe(fl.Ctx, fl.Provider, c.Conf)
	if err != nil {
		fl.Unreachable(fl.At(name, ""), err)
		return nil
	}
	fl.greet(c, a)
	return nil
}

// OpenSpare gets to know a place beside the run.
func (fl *Fleet) OpenSpare(name string) {
	if fl.Contacts[name] != nil {
		return
	}
	c, err := fl.contact(name)
	if err != nil {
		return // the campaign declares every spare
	}
	fl.At(name, "")
	fl.Opening++
	fl.Spawn(func() {
		a, err := line.Probe(fl.Ctx, fl.Provider, c.Conf)
		fl.Post(func() {
			fl.Opening--
			if err == nil {
				fl.greet(c, a)
				fl.follow(c)
			}
		})
	})
}

// contact takes a place from the campaign, or from the state when it has left
// the campaign.
func (fl *Fleet) contact(name string) (*Contact, error) {
	c := &Contact{Place: line.Place{Name: name}}
	if i := slices.IndexFunc(fl.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == name }); i >= 0 {
		c.Lang = fl.Campaign.Backends[i]
		c.Conf = site.Backend(fl.Campaign, c.Lang, fl.State.Lineage)
	} else if err := c.Recall(fl.State); err != nil {
		return nil, err
	}
	if c.Conf.Type == "local" {
		c.Conf.Environ = site.Environ(fl.Environ)
	}
	fl.Contacts[name] = c
	return c, nil
}

func (fl *Fleet) greet(c *Contact, a line.Acquaintance) {
	c.Meet(a)
	fl.stocked(c)
}

// stocked makes a queue of every pool that a place has.
func (fl *Fleet) stocked(c *Contact) {
	for i := range c.Offers {
		fl.At(c.Name, c.Offers[i].Name)
	}
	fl.At(c.Name, "")
	for _, b := range c.Lines {
		b.Slots = c.SlotsOf(b.Pool)
	}
	fl.Hear(Met{})
}

// Unreachable notes that a backend cannot be asked. That says nothing about
// its jobs. Each reason is told once, until the backend answers.
func (fl *Fleet) Unreachable(b *Backend, err error) {
	why := providers.WithHint(err)
	reason := providers.Reason(err)
	if b.Down == "" {
		b.reasons = nil
	}
	if !slices.Contains(b.reasons, reason) {
		b.reasons = append(b.reasons, reason)
		fl.Note(b.Title(), b.Title()+" cannot be reached: "+why, true)
	}
	b.Down = err.Error()
}

// lose is for a place whose watch lost it, or hosts of it without saying which:
// every queue is asked after what it has, until it can say.
func (fl *Fleet) lose(c *Contact) {
	for _, b := range c.Lines {
		if fs := fl.on(b); len(fs) > 0 && !b.looking {
			b.looking = true
			fl.lookFor(b, fs)
		}
	}
}

// speaks is for a backend that says itself that it can be asked again, or has
// said what its jobs do.
func (fl *Fleet) speaks(b *Backend) {
	b.mute = false
	fl.Reachable(b)
}

// Reachable notes that it answered. What it answers beside its queue, as it takes
// a file or a job, or tells what a job wrote down, is no news of a queue that it
// says it cannot ask.
func (fl *Fleet) Reachable(b *Backend) {
	if b.mute {
		return
	}
	if _, lost := fl.State.Away[b.FullName()]; lost { // by an earlier run, too
		fl.Hear(Answered{b})
	}
	if b.Down == "" {
		return
	}
	b.Down = ""
	if _, known := b.Pools[b.Pool]; b.Splits() && b.Pool != "" && !known {
		fl.AskPools(b.Contact)
	}
	fl.Note(b.Title(), b.Title()+" answers again", false)
}

// AskPools asks a place anew what it has: a host of it is back.
func (fl *Fleet) AskPools(c *Contact) {
	if c.asking {
		return
	}
	c.asking = true
	var pools []offer.Pool
	var err error
	c.Lines[0].Call(func() {
		ctx, cancel := context.WithTimeout(fl.Ctx, line.AskTimeout)
		defer cancel()
		pools, err = c.Provider.Pools(ctx, c.Name)
	}, func() {
		c.asking = false
		if err != nil {
			return
		}
		c.Stock(pools)
		fl.stocked(c)
		for _, b := range slices.Clone(c.Lines) {
			if _, known := c.Pools[b.Pool]; known {
				fl.Reachable(b)
			}
		}
	})
}
