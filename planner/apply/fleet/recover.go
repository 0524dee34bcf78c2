package fleet

import (
	"maps"
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Recover asks every backend about what it may have of ours, before anything
// new is started: an intent without outcome is found, or surely absent and
// sent again under its token, or unknown. Then the watches begin. Presses says
// whether backends shall hand over what they keep.
func (fl *Fleet) Recover(presses func() bool) {
	open := map[*Backend][]*Flight{}
	for _, b := range fl.Queues {
		open[b] = fl.on(b)
	}
	for _, name := range slices.Sorted(maps.Keys(fl.Contacts)) {
		c := fl.Contacts[name]
		left := 0
		for _, b := range c.Lines {
			if c.Provider != nil && len(open[b]) > 0 {
				left++
			}
		}
		if c.Provider != nil && left == 0 {
			fl.follow(c)
		}
		for _, b := range slices.Clone(c.Lines) {
			switch fs := open[b]; {
			case c.Provider == nil:
				for _, f := range fs {
					fl.move(f, cells.Unknown)
				}
				if b == c.Lines[0] {
					fl.reopen(c, 1, nil)
				}
			case len(fs) > 0:
				fl.ask(b, fs, presses, func() {
					if left--; left == 0 {
						fl.follow(c)
					}
				})
			}
		}
	}
}

// ask looks for flights before anything new is started.
func (fl *Fleet) ask(b *Backend, open []*Flight, presses func() bool, then func()) {
	fl.Unanswered++
	asked := tokens(open)
	var obs []offer.Observation
	var err error
	b.Call(func() { obs, err = b.Find(fl.Ctx, asked) }, func() {
		fl.Unanswered--
		fl.found(b, open, obs, err)
		fl.Cancel()
		fl.press(b, presses, then)
	})
}

// press has a backend hand over what it keeps, where its scheduler may have
// room by now. While muster stays, its watch does that.
func (fl *Fleet) press(b *Backend, presses func() bool, then func()) {
	kept := slices.DeleteFunc(fl.on(b), func(f *Flight) bool { return !f.NeedsMuster() || f.End != Stays })
	if len(kept) == 0 || !presses() {
		then()
		return
	}
	asked := tokens(kept)
	fl.Unanswered++
	r := providers.SubmitRequest{Backend: b.Name, Fence: fl.Fence, Holder: fl.Holder}
	var obs []offer.Observation
	var err error
	b.Call(func() {
		defer fl.slow(b, len(kept))()
		if _, err = b.Provider.Submit(fl.Ctx, r); err == nil {
			obs, err = b.Find(fl.Ctx, asked)
		}
	}, func() {
		fl.Unanswered--
		if line.ClassOf(err) == providers.StaleFence {
			fl.Hear(Overtaken{b, err})
		} else {
			fl.found(b, kept, obs, err)
		}
		then()
	})
}

// A hand-over that failed is tried again while the run waits for it: so many
// looks and submissions, and no more, as nobody may be there to wait.
const (
	handOverTries   = 6
	handOverPresses = 3
	handOverSilent  = 6
)

// sendAgain has a backend submit what it kept when a submission failed, for a run
// that does not stay: no watch would do that.
func (fl *Fleet) sendAgain(b *Backend) {
	if fl.Stays || b.pressing || !fl.Unsettled() {
		return
	}
	if unsent, unknown := fl.unsent(b); !unsent || unknown { // what is unknown is being looked for
		return
	}
	b.pressing = true
	fl.Later(line.Backoff(b.pressed+1), func() {
		b.pressing = false
		b.pressed++
		fl.press(b, func() bool { return true }, func() {})
	})
}

// unsent reports whether a submission to a backend failed and is not made up
// for, and whether it is unknown what became of it.
func (fl *Fleet) unsent(b *Backend) (unsent, unknown bool) {
	for _, f := range fl.flights {
		if f.B == b && f.Unsent != "" && f.End == Stays {
			unsent, unknown = true, unknown || f.Status == cells.Unknown
		}
	}
	return unsent, unknown
}

// Unsettled reports whether a hand-over still finds out what became of a
// submission that failed, or tries it again.
func (fl *Fleet) Unsettled() bool {
	for _, b := range fl.Queues {
		if b.Provider == nil || b.tries >= handOverTries || b.silent >= handOverSilent || b.pressed >= handOverPresses {
			continue
		}
		if unsent, _ := fl.unsent(b); unsent {
			return true
		}
	}
	return false
}

// follow begins to watch a backend.
func (fl *Fleet) follow(c *Contact) {
	if c.watched || c.Provider == nil || !fl.Stays {
		return
	}
	c.watched = true
	fl.Spawn(func() { fl.watch(c) })
}

// reopen tries to reach a backend that did not answer at the start.
func (fl *Fleet) reopen(c *Contact, tries int, why error) {
	if !fl.Stays && tries > 2 {
		return
	}
	first := c.Lines[0]
	fl.Later(line.Pause(tries, why), func() {
		var a line.Acquaintance
		var err error
		first.Call(func() { a, err = line.Probe(fl.Ctx, fl.Provider, c.Conf) }, func() {
			if err != nil {
				fl.Unreachable(first, err)
				fl.reopen(c, tries+1, err)
				return
			}
			lines := slices.Clone(c.Lines)
			fl.greet(c, a)
			fl.Reachable(first)
			for _, b := range lines {
				fl.lookFor(b, fl.on(b))
			}
			fl.follow(c)
		})
	})
}
