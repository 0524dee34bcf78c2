package queue

import (
	"context"
	"maps"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// find says of each token what is known of it. What is not known was never
// taken in here: the log keeps every token.
func (q *queue) find(ctx context.Context, p machine.Place, tokens []string) ([]offer.Observation, error) {
	return ask(ctx, q, func() []offer.Observation {
		out := make([]offer.Observation, len(tokens))
		for i, t := range tokens {
			out[i] = q.lookUp(t)
		}
		return out
	})
}

func (q *queue) lookUp(token string) offer.Observation {
	if j := q.jobs[token]; j != nil {
		if j.over() && j.Obs != nil {
			return *j.Obs
		}
		o := q.observe(j)
		if j.Status == offer.Waiting && j.Obs != nil {
			o = *j.Obs // the launch that ended: of the next there is nothing to tell
		}
		if j.lane != nil && j.lane.wait.why != "" {
			o.Reason = j.lane.wait.why
		}
		if j.needs > 0 {
			o.Reason = "waits for other jobs"
		}
		if j.Held {
			o.Reason = offer.Held
		}
		if why := q.stalled(); why != "" && o.Status == offer.Queued {
			o.Reason = why
		}
		return o
	}
	if g, ok := q.graves[token]; ok {
		return offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: g.Status, Attempt: g.Attempt, Exit: g.Exit,
			Class: g.Class, Ended: time.Unix(g.Ended, 0), Node: q.host}
	}
	return offer.Observation{Token: token, Presence: offer.Absent}
}

// cancel ends jobs. One that runs is told to end; the event follows when it has.
func (q *queue) cancel(ctx context.Context, p machine.Place, r providers.CancelRequest) ([]providers.Outcome, error) {
	out := make([]providers.Outcome, len(r.Tokens))
	refused, err := ask(ctx, q, func() error {
		if err := q.fence(p.Lineage, r.Fence, r.Holder); err != nil {
			return err
		}
		for i, t := range r.Tokens {
			out[i] = providers.Outcome{ID: t, What: q.cancelOne(t, r.Grace)}
		}
		return nil
	})
	if err = q.settle(refused, err); err != nil {
		return nil, err
	}
	return out, nil
}

// settle makes what the queue was asked for durable, unless it was refused
// or could not be asked.
func (q *queue) settle(refused, err error) error {
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	if err := q.journal.Sync(); err != nil {
		return noRoom(err)
	}
	return nil
}

func (q *queue) cancelOne(token string, grace time.Duration) string {
	j := q.jobs[token]
	if j == nil {
		if _, ok := q.graves[token]; ok {
			return "ended already"
		}
		return "not found"
	}
	switch j.Status {
	case offer.Completed, offer.Failed, offer.Cancelled:
		return "ended already"
	case offer.Queued, offer.Waiting:
		stopAll(j)
		obs := q.observe(j)
		if j.Obs != nil && j.Status == offer.Waiting {
			obs = *j.Obs
		}
		obs.Status, obs.Ended, obs.Reason, obs.Class = offer.Cancelled, time.Now(), "", ""
		j.Status, j.Obs, j.lane = offer.Cancelled, &obs, nil
		q.end(j, nil)
		return "cancelled"
	}
	if !j.cancels {
		j.cancels = true
		j.Launch.Cancelled = true
		q.step(j, false)
		if grace <= 0 {
			grace = j.spec.Grace
		}
		if j.check != nil { // it verifies
			j.check.stop()
		} else {
			q.terminate(j, grace)
		}
	}
	return "cancelled"
}

// control changes what may start by itself.
func (q *queue) control(ctx context.Context, p machine.Place, r providers.ControlRequest) error {
	refused, err := ask(ctx, q, func() error {
		if err := q.fence(p.Lineage, r.Fence, r.Holder); err != nil {
			return err
		}
		pl := q.at(p)
		if len(r.Tokens) > 0 {
			q.holdJobs(r)
			return nil
		}
		q.setRules(pl, r)
		return nil
	})
	return q.settle(refused, err)
}

func (q *queue) setRules(pl *place, r providers.ControlRequest) {
	if r.Hold != nil {
		pl.rules.Hold = *r.Hold
	}
	if r.Cap != nil {
		pl.rules.Cap = r.Cap
		if *r.Cap < 0 {
			pl.rules.Cap = nil
		}
	}
	if r.Phases != nil {
		phases := maps.Clone(pl.rules.Phases)
		if phases == nil {
			phases = map[string]int{}
		}
		maps.Copy(phases, r.Phases)
		pl.rules.Phases = phases
	}
	q.put(entry{Rule: &ruleEntry{Place: pl.n, Rules: pl.rules}})
	for _, phase := range r.Resume {
		q.closeBreaker(pl, phase)
	}
}

// holdJobs holds or releases single jobs that have not started.
func (q *queue) holdJobs(r providers.ControlRequest) {
	if r.Hold == nil {
		return
	}
	for _, t := range r.Tokens {
		j := q.jobs[t]
		if j == nil || j.over() || j.Held == *r.Hold {
			continue
		}
		j.Held = *r.Hold
		q.step(j, false)
		if !j.Held {
			q.ready(j)
		} else {
			j.lane = nil
		}
	}
}
