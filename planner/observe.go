package planner

import (
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// goneAfter is how long a job must be absent, from the first reading that
// missed it, before it counts as lost.
const goneAfter = time.Minute

// A fact is a record joined with what a refresh saw of it.
type fact struct {
	job    *state.Job
	status state.Status // as it is now
	was    state.Status // as recorded
	class  string
	tail   []string
	reason string
	by     string

	intent    bool   // submitting: no outcome known
	found     bool   // the intent's job is there
	absent    bool   // the intent's job surely is not there
	unknown   string // why nothing can be said, "" if something can
	duplicate string // a second handle under one token
	outputs   []offer.Output
}

// last is the last attempt, or nil.
func last(job *state.Job) *state.Attempt {
	if job == nil || len(job.Attempts) == 0 {
		return nil
	}
	return &job.Attempts[len(job.Attempts)-1]
}

// observe joins a record with the refresh. No allocation.
func (m *maker) observe(job *state.Job) fact {
	f := fact{job: job, status: job.Status, was: job.Status, class: job.Class, reason: job.Reason, by: job.By}
	if at := last(job); at != nil {
		f.tail = at.Tail
		if f.class == "" {
			f.class = at.Class
		}
	}
	if !job.Status.Active() {
		return f
	}
	o, asked := m.observation(job)
	if at := last(job); at != nil {
		if why, away := m.in.Observed.Unreachable[at.Backend]; away {
			f.unknown = at.Backend + " cannot be asked: " + why
		}
	}
	if job.Status == state.Submitting {
		m.observeIntent(&f, o, asked)
		return f
	}
	if f.unknown != "" || !asked {
		return f
	}
	f.duplicate = o.Duplicate
	m.fold(&f, o)
	return f
}

func (m *maker) observeIntent(f *fact, o offer.Observation, asked bool) {
	f.intent = true
	switch {
	case f.unknown != "":
	case asked && o.Presence == offer.Found:
		f.found = true
		f.duplicate = o.Duplicate
	case asked && o.Presence == offer.Absent:
		f.absent = true
	default:
		f.unknown = "it was being submitted, and whether it arrived is not known yet"
	}
}

// observation finds what was seen of a record's last attempt. The host
// queue's own launches are TOKEN/N under the token that was submitted.
func (m *maker) observation(job *state.Job) (offer.Observation, bool) {
	at := last(job)
	if at == nil || len(m.in.Observed.Jobs) == 0 {
		return offer.Observation{}, false
	}
	if o, ok := m.in.Observed.Jobs[at.Token]; ok {
		return o, true
	}
	base, _, _ := strings.Cut(at.Token, "/")
	o, ok := m.in.Observed.Jobs[base]
	return o, ok
}

// fold moves the fact to what was observed.
func (m *maker) fold(f *fact, o offer.Observation) {
	switch o.Presence {
	case offer.Absent:
		m.foldAbsent(f, o)
		return
	case offer.Unknown:
		f.unknown = "its backend could not say"
		if o.Reason != "" {
			f.unknown = o.Reason
		}
		return
	}
	if len(o.Tail) > 0 {
		f.tail = o.Tail
	}
	if o.Class != "" {
		f.class = o.Class
	}
	switch o.Status {
	case offer.Queued, offer.Running, offer.Verifying, offer.Waiting, offer.Completed, offer.Failed, offer.Cancelled:
		f.status = state.Status(o.Status)
	case offer.Lost:
		f.status, f.class = state.Failed, classNodeFailure
	}
	if f.status == state.Cancelled && f.by == "" {
		f.by = "outside"
		f.reason = o.Reason
	}
	if f.status == state.Completed {
		f.outputs = o.Outputs
	}
}

const classNodeFailure = "node_failure"

func (m *maker) foldAbsent(f *fact, o offer.Observation) {
	if f.was == state.Waiting {
		return // it ended, and its next launch is ours to make
	}
	since, seen := m.in.Observed.Gone[o.Token]
	if o.Status == offer.Lost || seen && m.in.Now.Sub(since) >= goneAfter {
		f.status, f.class = state.Failed, classNodeFailure
		f.reason = "its backend no longer knows it"
		return
	}
	f.unknown = "its backend does not list it; that counts after a second reading a minute later"
}

// retries reports whether a failed fact is tried again by the phase's policy.
func (m *maker) retries(p *lang.Phase, f fact) bool {
	n := 0
	if at := last(f.job); at != nil {
		n = max(at.N, 1)
	}
	if n >= max(p.Retry.MaxAttempts, 1) {
		return false
	}
	for _, c := range m.in.Campaign.Failures {
		if class := orElse(c.Class, c.Name); class == f.class && c.Action != "" {
			return c.Action == "retry"
		}
	}
	for _, on := range p.Retry.On {
		if on == f.class || strings.HasPrefix(f.class, on+"_") && on == "oom" {
			return true
		}
	}
	return false
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
