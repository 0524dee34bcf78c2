package apply

import (
	"slices"

	"github.com/muster-run/muster/providers/offer"
)

// recover asks every backend about what it may have of ours, before anything
// new is started: an intent without outcome is found, or surely absent and
// sent again under its token, or unknown. Then the watches begin.
func (e *engine) recover() {
	for _, b := range e.backends {
		var open []*flight
		for _, f := range e.flights {
			if f.b == b {
				open = append(open, f)
			}
		}
		slices.SortFunc(open, func(a, b *flight) int { return compareText(a.key, b.key) })
		if b.p == nil || b.down != "" {
			for _, f := range open {
				f.mark(unknown)
			}
			e.reopen(b, open, 1)
			continue
		}
		if len(open) == 0 {
			e.follow(b)
			continue
		}
		e.recovered++
		tokens := make([]string, len(open))
		for i, f := range open {
			tokens[i] = f.token
		}
		var obs []offer.Observation
		var err error
		e.call(b, func() { obs, err = b.find(e.ctx, tokens) }, func() {
			e.recovered--
			e.found(b, open, obs, err)
			e.cancelFlights()
			e.follow(b)
		})
	}
}

// follow begins to watch a backend.
func (e *engine) follow(b *backend) {
	if b.watched || b.p == nil || e.Mode != Drive {
		return
	}
	b.watched = true
	e.spawn(func() { e.watch(b) })
}

// reopen tries to reach a backend that did not answer at the start.
func (e *engine) reopen(b *backend, open []*flight, tries int) {
	if e.Mode != Drive && tries > 2 {
		return
	}
	e.later(backoff(tries), func() {
		var a acquaintance
		var err error
		e.call(b, func() { a, err = e.probe(e.ctx, b.conf) }, func() {
			if err != nil {
				e.unreachable(b, err)
				e.reopen(b, open, tries+1)
				return
			}
			e.greet(b, a)
			e.reachable(b)
			e.lookFor(b, open)
			e.follow(b)
		})
	})
}

// proceed goes on with a flight that was found and is not over.
func (e *engine) proceed(f *flight) {
	if e.flights[f.token] == f && f.status == unknown {
		f.mark(queued)
	}
}
