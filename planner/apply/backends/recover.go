package backends

import (
	"errors"
	"maps"
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// opening reaches backends, at the start and when they come back, and finds our jobs there.
type opening struct {
	*core
	endings *endings
	lookups *lookups
	watches *watches
}

// Recover asks every backend for jobs of ours, before anything new starts: an intent without
// outcome is found, or surely absent and sent again under its token, or unknown. Then the
// watches begin. Presses says whether backends shall deliver kept jobs.
func (op *opening) Recover(presses func() bool) {
	open := map[*Backend][]*Attempt{}
	for _, b := range op.Queues {
		open[b] = op.on(b)
	}
	for _, name := range slices.Sorted(maps.Keys(op.Contacts)) {
		c := op.Contacts[name]
		left := 0
		for _, b := range c.Lines {
			if c.Provider != nil && len(open[b]) > 0 {
				left++
			}
		}
		if c.Provider != nil && left == 0 {
			op.watches.follow(c)
		}
		for _, b := range slices.Clone(c.Lines) {
			switch fs := open[b]; {
			case c.Provider == nil:
				for _, f := range fs {
					f.Stranded = c.Closed
					op.move(f, cells.Unknown)
				}
				if b == c.Lines[0] && !c.Closed {
					op.reopen(c, 1, nil)
				}
			case len(fs) > 0:
				op.ask(b, fs, presses, func() {
					if left--; left == 0 {
						op.watches.follow(c)
					}
				})
			}
		}
	}
}

// ask looks for attempts before anything new is started.
func (op *opening) ask(b *Backend, open []*Attempt, presses func() bool, then func()) {
	op.Unanswered++
	asked := tokens(open)
	var obs []offer.Observation
	var err error
	b.Call(func() { obs, err = b.Find(op.Ctx, asked) }, func() {
		op.Unanswered--
		op.lookups.found(b, open, obs, err)
		op.endings.Cancel()
		op.lookups.press(b, presses, then)
	})
}

// A submission that failed is tried again while the run waits for it: so many
// looks and submissions, and no more, as nobody may be there to wait.
const (
	handOverTries   = 6
	handOverPresses = 3
	handOverSilent  = 6
)

// reopen tries to reach a backend that did not answer at the start.
func (op *opening) reopen(c *Contact, tries int, why error) {
	if !op.Stays && tries > 2 {
		return
	}
	first := c.Lines[0]
	op.Later(connection.Pause(tries, why), func() {
		var a connection.Acquaintance
		var err error
		first.Call(func() { a, err = connection.Probe(op.Ctx, op.Provider, c.Conf) }, func() {
			if err != nil {
				op.Unreachable(first, err)
				op.reopen(c, tries+1, err)
				return
			}
			lines := slices.Clone(c.Lines)
			op.greet(c, a)
			op.Reachable(first)
			for _, b := range lines {
				op.lookups.lookFor(b, op.on(b))
			}
			op.watches.follow(c)
		})
	})
}

// Open gets to know a place before the first turn. One that does not answer
// is asked again later.
func (op *opening) Open(name string) error {
	c, err := op.contact(name)
	if err != nil {
		return err
	}
	a, err := connection.Probe(op.Ctx, op.Provider, c.Conf)
	if err != nil {
		b := op.At(name, "")
		if e := (*providers.Error)(nil); errors.As(err, &e) && e.Class == providers.Conflict {
			c.Closed = true
		}
		if why := providers.WithHint(err); providers.WantsLogin(err) != "" && op.Away[name] == why {
			b.Down, b.reasons = err.Error(), []string{providers.Reason(err)}
		}
		op.Unreachable(b, err)
		return nil
	}
	op.greet(c, a)
	return nil
}

// OpenSpare gets to know a place beside the run.
func (op *opening) OpenSpare(name string) {
	if op.Contacts[name] != nil {
		return
	}
	c, err := op.contact(name)
	if err != nil {
		return // the campaign declares every spare
	}
	op.At(name, "")
	op.Opening++
	op.Spawn(func() {
		a, err := connection.Probe(op.Ctx, op.Provider, c.Conf)
		op.Post(func() {
			op.Opening--
			if err == nil {
				op.greet(c, a)
				op.watches.follow(c)
			}
		})
	})
}
