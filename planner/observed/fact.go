package observed

import (
	"cmp"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// goneAfter is how long a job must be absent, from the first reading that
// missed it, before it counts as lost.
const goneAfter = time.Minute

// A Fact is a record joined with a refresh's observation of it.
type Fact struct {
	Job    *state.Job
	Status state.Status // as it is now
	Was    state.Status // as recorded
	Class  string
	Tail   []string
	Reason string
	By     string

	Intent    bool   // submitting: no outcome known
	Found     bool   // the intent's job is there
	Absent    bool   // the intent's job surely is not there
	Unknown   string // why nothing can be said, "" if something can
	Duplicate string // a second handle under one token
	Outputs   []offer.Output
}

// Join is a record with its observation. No allocation.
func (r *Refresh) Join(job *state.Job, now time.Time) Fact {
	f := Fact{Job: job, Status: job.Status, Was: job.Status, Class: job.Class, Reason: job.Reason, By: job.By}
	if at := job.Last(); at != nil {
		f.Tail = at.Tail
		if f.Class == "" && !job.CancelledByPerson() { // who cancelled it did so after that launch
			f.Class = at.Class
		}
	}
	if !job.Status.Active() {
		return f
	}
	o, asked := r.Observation(job)
	if at := job.Last(); at != nil {
		if _, away := r.Unreachable[at.Backend]; away && (r.Refreshed || !r.Unasked[at.Backend]) {
			f.Unknown = at.Backend + " cannot be asked: " + r.Away(at.Backend)
		}
	}
	if job.Status == state.Submitting {
		r.observeIntent(&f, o, asked, now)
		return f
	}
	if f.Unknown != "" || !asked {
		return f
	}
	f.Duplicate = o.Duplicate
	r.fold(&f, o, now)
	return f
}

// observeIntent finds the outcome of a submission that has none; if it
// arrived, the current status of its job.
func (r *Refresh) observeIntent(f *Fact, o offer.Observation, asked bool, now time.Time) {
	f.Intent = true
	switch {
	case f.Unknown != "":
	case asked && o.Presence == offer.Found:
		f.Found = true
		f.Duplicate = o.Duplicate
		r.fold(f, o, now)
	case asked && o.Presence == offer.Absent:
		f.Absent = true
	default:
		f.Unknown = cmp.Or(o.Reason, "it was being submitted; muster does not know yet whether it arrived")
	}
}

// Observation finds the observation of a record's last attempt. The host queue's own launches
// are TOKEN/N under the token that was submitted.
func (r *Refresh) Observation(job *state.Job) (offer.Observation, bool) {
	at := job.Last()
	if at == nil || len(r.Jobs) == 0 {
		return offer.Observation{}, false
	}
	if o, ok := r.Jobs[at.Token]; ok {
		return o, true
	}
	base, _, _ := strings.Cut(at.Token, "/")
	o, ok := r.Jobs[base]
	return o, ok
}

// fold moves the fact to the observation.
func (r *Refresh) fold(f *Fact, o offer.Observation, now time.Time) {
	switch o.Presence {
	case offer.Absent:
		r.foldAbsent(f, o, now)
		return
	case offer.Unknown:
		f.Unknown = "its backend could not say"
		if o.Reason != "" {
			f.Unknown = o.Reason
		}
		return
	}
	if len(o.Tail) > 0 {
		f.Tail = o.Tail
	}
	if o.Class != "" {
		f.Class = o.Class
	}
	switch o.Status {
	case offer.Queued, offer.Running, offer.Verifying, offer.Waiting, offer.Completed, offer.Failed, offer.Cancelled:
		f.Status = state.Status(o.Status)
	case offer.Lost:
		f.Status, f.Class = state.Failed, classNodeFailure
	}
	if o.GivenUp() {
		f.Class = offer.Blocked
		return
	}
	if f.Status == state.Cancelled && f.By == "" {
		f.By = "outside"
		f.Reason = o.Reason
	}
	if f.Status == state.Completed {
		f.Outputs = o.Outputs
	}
}

// Unlisted is why a job is absent whose backend says no more of it.
const Unlisted = "its backend does not list it"

const classNodeFailure = "node_failure"

func (r *Refresh) foldAbsent(f *Fact, o offer.Observation, now time.Time) {
	if f.Was == state.Waiting {
		return // it ended, and its next launch is ours to make
	}
	since, seen := r.Gone[o.Token]
	if o.Status == offer.Lost || seen && now.Sub(since) >= goneAfter {
		f.Status, f.Class = state.Failed, classNodeFailure
		f.Reason = cmp.Or(o.Reason, Unlisted)
		return
	}
	f.Unknown = cmp.Or(o.Reason, Unlisted) + "; muster looks again in a minute before it counts the job as lost"
}

// Going reports whether a backend was seen to have a record's last attempt,
// and not to be through with it.
func (r *Refresh) Going(job *state.Job) bool {
	o, ok := r.Observation(job)
	if !ok || o.Presence != offer.Found {
		return false
	}
	switch o.Status {
	case offer.Completed, offer.Failed, offer.Cancelled, offer.Lost:
		return false
	}
	return true
}
