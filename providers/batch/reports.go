package batch

import (
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/events"
	"github.com/muster-run/muster/providers/offer"
)

// reports is the journal of observations, for watchers. It reports an end once,
// and after the ends of earlier launches.
type reports struct {
	jobs *jobs
	log  *events.Log
	ends int // jobs that have ended
}

// load reads earlier reports and brings the jobs up to date.
func (r *reports) load() error {
	if err := r.log.Load(); err != nil {
		return err
	}
	for _, e := range r.log.All() {
		r.apply(&e.Seen)
	}
	return nil
}

// apply updates a job by an observation.
func (r *reports) apply(o *offer.Observation) {
	j := r.jobs.byToken[o.Token]
	if j == nil || o.Attempt < j.last.Attempt && !over(o.Status) {
		return
	}
	j.last = *o
	if !j.ended && over(o.Status) {
		r.ends++
	}
	j.ended = over(o.Status)
}

func over(s offer.Status) bool {
	return s == offer.Completed || s == offer.Failed || s == offer.Cancelled || s == offer.Lost
}

// tell journals observations and wakes watchers. It holds those back that must
// follow the end of an earlier launch.
func (r *reports) tell(list ...offer.Observation) error {
	return r.tellNow(slices.DeleteFunc(list, func(o offer.Observation) bool {
		j := r.jobs.byToken[o.Token]
		if j == nil || len(j.pendingEnds) == 0 {
			return false
		}
		j.hold(o)
		return true
	})...)
}

// tellNow journals observations without holding any back.
func (r *reports) tellNow(list ...offer.Observation) error {
	var told []events.Event
	for _, o := range list {
		j := r.jobs.byToken[o.Token]
		if j == nil || j.ended {
			continue
		}
		o.Presence = offer.Found
		if over(o.Status) && o.Attempt < j.last.Attempt {
			if o.Status != offer.Completed {
				notRun(&o)
			}
			o.Attempt = j.last.Attempt
		}
		if o.Handle == "" {
			o.Handle = r.jobs.handle(j)
		}
		r.apply(&o)
		told = append(told, events.Event{Seen: o})
	}
	return r.log.Add(told...)
}

// notRun makes an end that of a later launch, which never ran: the scheduler
// requeued the job, its retry policy refused another launch, and the end of the
// launch before is already reported.
func notRun(o *offer.Observation) {
	o.Started, o.NotRun, o.Usage = time.Time{}, true, nil
	o.Exit, o.Signal, o.Node, o.GPUs = nil, "", "", nil
}

// note journals a note that is not about one job.
func (r *reports) note(n providers.Note) error { return r.log.Add(events.Event{Note: &n}) }

// earlier are, by token, the reported ends of launches before the last.
func (r *reports) earlier() map[string][]offer.Observation {
	ends := map[string][]offer.Observation{}
	for _, t := range r.log.All() {
		o := t.Seen
		if j := r.jobs.byToken[o.Token]; j != nil && o.Status == offer.Waiting && o.Attempt < j.last.Attempt {
			ends[o.Token] = append(ends[o.Token], o)
		}
	}
	return ends
}
