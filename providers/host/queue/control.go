package queue

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// requests answers the questions of clients, except submissions and events.
type requests struct {
	*core
	attempts     *attempts
	breakers     *breakers
	compaction   *compaction
	events       *events
	submissions  *submissions
	dependencies *dependencies
	allocator    *allocator
}

// find reports the state of each token. An unknown token was never accepted here: the log
// keeps every token. Without tokens it reports all jobs of the tenant whose ends have not been
// acknowledged: of others the log keeps no more than how they ended.
func (an *requests) find(ctx context.Context, p machine.Tenant, tokens []string) ([]offer.Observation, error) {
	if len(tokens) == 0 {
		return an.recall(ctx, p)
	}
	return ask(ctx, an.core, func() []offer.Observation {
		out := make([]offer.Observation, len(tokens))
		for i, t := range tokens {
			out[i] = an.lookUp(t)
		}
		return out
	})
}

func (an *requests) recall(ctx context.Context, p machine.Tenant) (out []offer.Observation, err error) {
	known, err := ask(ctx, an.core, func() bool {
		fence := an.submissions.fences[p.Lineage].N
		for token, j := range an.jobs {
			if key(j.place.Tenant) == key(p) {
				o := an.lookUp(token)
				o.Record = &offer.JobRecord{Address: j.spec.Address, Smoke: j.spec.Smoke, Result: j.spec.ResultHash, First: max(j.spec.Attempt, 1), Fence: fence}
				out = append(out, o)
			}
		}
		return an.places[key(p)] != nil
	})
	if err == nil && !known {
		err = providers.Errorf(providers.NotFound, "The queue of %s has no record of this campaign", an.host)
	}
	return out, err
}

func (an *requests) lookUp(token string) offer.Observation {
	if j := an.jobs[token]; j != nil {
		if j.over() && j.Obs != nil {
			return *j.Obs
		}
		o := an.observe(j)
		if j.Status == offer.Waiting && j.Obs != nil {
			o = *j.Obs // the launch that ended: the next one has not begun
		}
		if j.queue != nil && j.queue.wait.why != "" {
			o.Reason, o.Cause = j.queue.wait.why, j.queue.wait.cause
		}
		if j.needs > 0 {
			o.Reason, o.Cause = "waits for other jobs", ""
		}
		if j.Held {
			o.Reason, o.Cause = "held", offer.JobHeld
		}
		if why := an.stalled(); why != "" && o.Status == offer.Queued {
			o.Reason, o.Cause = why, offer.NoSpool
		}
		return o
	}
	if g, ok := an.tombstones[token]; ok {
		return offer.Observation{Token: token, Presence: offer.Found, Handle: token, Status: g.Status, Attempt: g.Attempt, Exit: g.Exit,
			Class: g.Class, Ended: time.Unix(g.Ended, 0), Node: an.host}
	}
	return offer.Observation{Token: token, Presence: offer.Absent}
}

// cancel ends jobs. A running one is asked to end; the event follows when it has ended.
func (an *requests) cancel(ctx context.Context, p machine.Tenant, r providers.CancelRequest) ([]providers.Outcome, error) {
	out := make([]providers.Outcome, len(r.Tokens))
	refused, err := ask(ctx, an.core, func() error {
		if err := an.submissions.fence(p.Lineage, r.Fence, r.Holder); err != nil {
			return err
		}
		for i, t := range r.Tokens {
			out[i] = providers.Outcome{ID: t, What: an.attempts.cancelOne(t, r.Grace)}
		}
		return nil
	})
	if err = an.submissions.settle(refused, err); err != nil {
		return nil, err
	}
	return out, nil
}

// control changes which jobs may start by themselves.
func (an *requests) control(ctx context.Context, p machine.Tenant, r providers.ControlRequest) error {
	refused, err := ask(ctx, an.core, func() error {
		if err := an.submissions.fence(p.Lineage, r.Fence, r.Holder); err != nil {
			return err
		}
		pl := an.at(p)
		if len(r.Tokens) > 0 {
			an.holdJobs(r)
			return nil
		}
		an.setRules(pl, r)
		return nil
	})
	return an.submissions.settle(refused, err)
}

func (an *requests) setRules(pl *place, r providers.ControlRequest) {
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
	an.put(entry{Rule: &ruleEntry{Place: pl.n, Rules: pl.rules}})
	for _, of := range r.Resume {
		an.breakers.closeBreaker(pl, of)
	}
}

// holdJobs holds or releases single jobs that have not started.
func (an *requests) holdJobs(r providers.ControlRequest) {
	if r.Hold == nil {
		return
	}
	for _, t := range r.Tokens {
		j := an.jobs[t]
		if j == nil || j.over() || j.Held == *r.Hold {
			continue
		}
		j.Held = *r.Hold
		an.step(j, false)
		if !j.Held {
			an.dependencies.release(j)
		} else {
			j.queue = nil
		}
	}
}

func (an *requests) status() wire.QueueStatus {
	s := wire.QueueStatus{Running: len(an.live), CPUs: an.attempts.used.cpus, GPUs: an.allocator.devices.Held(), Jobs: len(an.jobs)}
	for _, j := range an.jobs {
		if j.Status == offer.Queued || j.Status == offer.Waiting {
			s.Queued++
		}
	}
	if why := cmp.Or(an.stuck, an.full); why != nil {
		s.Stuck = why.Error()
	}
	return s
}
