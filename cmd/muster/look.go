package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// seenJobs is what the backends say right now, for showing only.
type seenJobs struct {
	jobs        map[string]offer.Observation // by token
	unreachable map[string]string            // by backend
	findings    []observed.Finding           // what is not as muster left it
}

// A looker asks the backends about jobs in flight and records nothing. Looking
// again soon costs nothing.
type looker struct {
	a    *app
	work *work // the provider processes, once they are up
	seen seenJobs
	next time.Time
	once bool // one look: it may read files, too
}

func (l *looker) look(ctx context.Context, c *lang.Campaign, st *state.State) seenJobs {
	if now := time.Now(); now.Before(l.next) {
		return l.seen
	}
	if l.work == nil {
		l.work = &work{launcher: l.a.launcher()}
	}
	r := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: l.work.provider(ctx), Now: l.a.now(), Refresh: true, Copies: l.once, Cache: filepath.Join(l.a.dataDir(), "cache"),
		Waiting: l.a.waiting})
	l.seen, l.next = seenJobs{r.Observed.Jobs, r.Observed.Unreachable, r.Observed.Findings}, time.Now().Add(lookEvery)
	return l.seen
}

func (l *looker) close() {
	if l.work != nil {
		l.work.close()
	}
}

// correct brings a job's line up to what its backend says.
func (s seenJobs) correct(v *jobStatus, j *state.Job) {
	last := j.Last()
	if last == nil || !j.InFlight() {
		return
	}
	if why, away := s.unreachable[last.Backend]; away {
		v.unknown(why)
		return
	}
	token, _, _ := strings.Cut(last.Token, "/")
	o, ok := s.jobs[token]
	switch {
	case !ok:
		return
	case o.Presence == offer.Unknown:
		v.unknown(o.Reason)
		return
	case o.Presence == offer.Absent:
		return
	}
	v.Status, v.Class, v.Exit, v.Signal = string(o.Status), o.Class, o.Exit, o.Signal
	if o.Node != "" {
		v.Node, v.GPUs = o.Node, o.GPUs
	}
	if o.Status == offer.Running && !o.Started.IsZero() {
		v.Since = o.Started
	}
	if o.Reason != "" || o.Status != offer.Status(j.Status) {
		v.Reason = o.Reason
	}
	v.Start = time.Time{}
	if o.Status == offer.Queued {
		v.Start = o.Expected
	}
	if len(o.Tail) > 0 && o.Status == offer.Failed {
		v.Tail = o.Tail
	}
}

// unknown is how a job stands whose backend, or host of it, cannot be asked.
// What was heard last stays.
func (v *jobStatus) unknown(why string) {
	v.Status, v.Reason = "unknown", strings.TrimSpace("last heard of as "+v.Status+"; "+why)
}
