package main

import (
	"context"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// seenJobs is what the backends say right now, for showing only.
type seenJobs struct {
	jobs        map[string]offer.Observation // by token
	unreachable map[string]string            // by backend
}

// look asks the backends about jobs in flight, records nothing.
func (a *app) look(ctx context.Context, c *lang.Campaign, st *state.State) seenJobs {
	l := a.launcher()
	defer l.Close()
	w := &work{launcher: l}
	r := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: w.provider(ctx), Now: a.now(), Refresh: true,
		Waiting: func(what string) { a.notef("%s\n", what) }})
	return seenJobs{r.Observed.Jobs, r.Observed.Unreachable}
}

// correct brings a job's line up to what its backend says.
func (s seenJobs) correct(v *jobStatus, j *state.Job) {
	last := j.Last()
	if last == nil || !j.InFlight() {
		return
	}
	if why, away := s.unreachable[last.Backend]; away {
		v.Status, v.Reason = "unknown", why
		return
	}
	o, ok := s.jobs[last.Token]
	if !ok || o.Presence != offer.Found {
		return
	}
	v.Status, v.Class, v.Node, v.GPUs = string(o.Status), o.Class, o.Node, o.GPUs
	if o.Reason != "" {
		v.Reason = o.Reason
	}
	if len(o.Tail) > 0 && o.Status == offer.Failed {
		v.Tail = o.Tail
	}
}
