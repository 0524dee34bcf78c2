package main

import (
	"context"
	"time"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/state"
)

// A looker asks the backends about jobs in flight and records nothing. Looking
// again soon costs nothing.
type looker struct {
	a    *app
	work *work // the provider processes, once they are up
	seen page.Seen
	next time.Time
	once bool // one look: it may read files, too
	// every is how long an answer is good for.
	every time.Duration
}

func (l *looker) look(ctx context.Context, c *lang.Campaign, st *state.State) page.Seen {
	if now := time.Now(); now.Before(l.next) {
		return l.seen
	}
	if l.work == nil {
		l.work = &work{launcher: l.a.launcher()}
	}
	l.work.simulated = rehearse.WorldOf(c, st, l.a.now()) // as the state has it by now
	r := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: l.work.provider(ctx), Now: l.a.now(), Refresh: true, Copies: l.once, Cache: l.a.cacheDir(),
		Waiting: l.a.waiting, Reads: l.a.guard.Reads})
	l.seen, l.next = page.Seen{Jobs: r.Observed.Jobs, Unreachable: r.Observed.Unreachable, Findings: r.Observed.Findings}, time.Now().Add(l.every)
	return l.seen
}

func (l *looker) close() {
	if l.work != nil {
		l.work.close()
	}
}
