package apply

import (
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// recover asks every backend about what it may have of ours, before anything
// new is started: an intent without outcome is found, or surely absent and
// sent again under its token, or unknown. Then the watches begin.
func (e *engine) recover() {
	open := map[*backend][]*flight{}
	for _, f := range e.flights {
		open[f.b] = append(open[f.b], f)
	}
	for _, name := range sortedKeys(e.contacts) {
		c := e.contacts[name]
		left := 0
		for _, b := range c.lines {
			if c.Provider != nil && len(open[b]) > 0 {
				left++
			}
		}
		if c.Provider != nil && left == 0 {
			e.follow(c)
		}
		for _, b := range slices.Clone(c.lines) {
			fs := open[b]
			slices.SortFunc(fs, func(a, b *flight) int { return compareText(a.key, b.key) })
			switch {
			case c.Provider == nil:
				for _, f := range fs {
					f.mark(cells.Unknown)
				}
				if b == c.lines[0] {
					e.reopen(c, 1)
				}
			case len(fs) > 0:
				e.ask(b, fs, func() {
					if left--; left == 0 {
						e.follow(c)
					}
				})
			}
		}
	}
}

// ask looks for flights before anything new is started.
func (e *engine) ask(b *backend, open []*flight, then func()) {
	e.recovered++
	tokens := make([]string, len(open))
	for i, f := range open {
		tokens[i] = f.token
	}
	var obs []offer.Observation
	var err error
	b.Call(func() { obs, err = b.Find(e.ctx, tokens) }, func() {
		e.recovered--
		e.found(b, open, obs, err)
		e.cancelFlights()
		e.press(b, then)
	})
}

// press has a backend hand over what it keeps, where its scheduler may have
// room by now. While muster stays, its watch does that.
func (e *engine) press(b *backend, then func()) {
	var kept []*flight
	for _, f := range e.flights {
		if f.b == b && f.kept && f.end == endNot {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 || !e.handingOver() || e.halted != None || e.holds.All {
		then()
		return
	}
	slices.SortFunc(kept, func(a, b *flight) int { return compareText(a.key, b.key) })
	tokens := make([]string, len(kept))
	for i, f := range kept {
		tokens[i] = f.token
	}
	e.recovered++
	r := providers.SubmitRequest{Backend: b.Name, Fence: e.Session.Fence(), Holder: e.Session.Holder()}
	var obs []offer.Observation
	var err error
	b.Call(func() {
		if _, err = b.Provider.Submit(e.ctx, r); err == nil {
			obs, err = b.Find(e.ctx, tokens)
		}
	}, func() {
		e.recovered--
		if line.ClassOf(err) == providers.StaleFence {
			e.overtaken(b, err)
		} else {
			e.found(b, kept, obs, err)
		}
		then()
	})
}

// follow begins to watch a backend.
func (e *engine) follow(c *contact) {
	if c.watched || c.Provider == nil || e.Mode != Drive {
		return
	}
	c.watched = true
	e.Spawn(func() { e.watch(c) })
}

// reopen tries to reach a backend that did not answer at the start.
func (e *engine) reopen(c *contact, tries int) {
	if e.Mode != Drive && tries > 2 {
		return
	}
	first := c.lines[0]
	e.later(line.Backoff(tries), func() {
		var a line.Acquaintance
		var err error
		first.Call(func() { a, err = line.Probe(e.ctx, e.Provider, c.Conf) }, func() {
			if err != nil {
				e.unreachable(first, err)
				e.reopen(c, tries+1)
				return
			}
			lines := slices.Clone(c.lines)
			e.greet(c, a)
			e.reachable(first)
			for _, b := range lines {
				e.lookFor(b, e.of(b))
			}
			e.follow(c)
		})
	})
}

// of are the flights of a backend, by key.
func (e *engine) of(b *backend) (out []*flight) {
	for _, f := range e.flights {
		if f.b == b {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *flight) int { return compareText(a.key, b.key) })
	return out
}

// proceed goes on with a flight that was found and is not over.
func (e *engine) proceed(f *flight) {
	if e.flights[f.token] == f && f.status == cells.Unknown {
		f.mark(cells.Queued)
	}
}
