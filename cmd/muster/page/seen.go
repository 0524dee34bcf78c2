package page

import (
	"strings"
	"time"

	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Seen is the backends' current report, for showing only.
type Seen struct {
	Jobs        map[string]offer.Observation // by token
	Unreachable map[string]string            // by backend
	Findings    []observed.Finding           // differences from muster's own files
}

// as is a record after the end that its backend reports, for jobs that wait for
// it.
func (s Seen) as(j *state.Job) *state.Job {
	last := j.Last()
	if last == nil || !j.InFlight() {
		return j
	}
	token, _, _ := strings.Cut(last.Token, "/")
	o, ok := s.Jobs[token]
	if !ok || o.Presence != offer.Found {
		return j
	}
	now := *j
	switch o.Status {
	case offer.Failed, offer.Lost:
		now.Status, now.Class = state.Failed, o.Class
	case offer.Cancelled:
		now.Status, now.Class = state.Cancelled, o.Class
		if o.GivenUp() {
			now.Class = offer.Blocked
		}
	default:
		return j
	}
	return &now
}

// correct brings a job's line up to date with its backend's report; if the
// backend was not asked, with the finding of a run that could not ask it.
func (s Seen) correct(v *JobStatus, j *state.Job, st *state.State) {
	last := j.Last()
	if last == nil || !j.InFlight() {
		return
	}
	lost, _ := st.AwayFrom(last.Backend, last.Pool)
	if why, away := s.Unreachable[last.Backend]; away {
		v.unknown(why, lost.At)
		return
	}
	token, _, _ := strings.Cut(last.Token, "/")
	o, ok := s.Jobs[token]
	switch {
	case !ok && !lost.At.IsZero():
		v.unknown(lost.Reason, lost.At)
		return
	case !ok:
		return
	case o.Presence == offer.Unknown:
		v.unknown(o.Reason, lost.At)
		return
	case o.Presence == offer.Absent:
		return
	}
	v.Status, v.Class, v.Exit, v.Signal = string(o.Status), o.Class, o.Exit, o.Signal
	if o.GivenUp() {
		v.Status, v.Class, v.Reason = blocked, "", "waits for its dependency, and is submitted again when that is done"
		return
	}
	if o.Node != "" {
		v.Node, v.GPUs = o.Node, o.GPUs
	}
	switch {
	case o.Status == offer.Running && !o.Started.IsZero():
		v.Since = o.Started
	case (o.Status == offer.Failed || o.Status == offer.Cancelled) && !o.Ended.IsZero():
		v.Since = o.Ended
	}
	if o.Cause == offer.CampaignHeld && len(st.Holds) == 0 { // it has not been told yet
		o.Reason = "waits for `muster apply`"
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

// unknown is the status of a job whose backend, or its host, does not answer. The last known
// facts stay.
func (v *JobStatus) unknown(why string, since time.Time) {
	v.Start = time.Time{}
	if !since.IsZero() {
		v.Since = since
	}
	v.Status, v.Reason = unknown, strings.TrimSpace("last seen "+v.Status+"; "+why)
}
