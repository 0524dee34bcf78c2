package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Apply folds one event in. It is total: an event about something the state
// does not know, or one that comes late, changes nothing that is known
// better. The same events in the same order always give the same State, and
// nothing of the event is shared with the State afterwards.
func (s *State) Apply(e Event) {
	if s.Jobs == nil {
		s.Jobs = map[string]*Job{}
	}
	if v := reflect.ValueOf(e); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		e, _ = v.Elem().Interface().(Event)
	}
	switch e := e.(type) {
	case Intended, Submitted, NotSubmitted, Observed:
		s.rows = nil
		s.applyAttempt(e)
	case HeldJob, Freed, MovedJob, Forgot, Accepted, OutputsSeen, Reused, MetricsRead:
		s.rows = nil
		s.applyJob(e)
	default:
		s.applyCampaign(e)
	}
}

func (s *State) applyAttempt(e Event) {
	switch e := e.(type) {
	case Intended:
		s.intend(e)
	case Submitted:
		s.submitted(e)
	case NotSubmitted:
		s.withdraw(e)
	case Observed:
		s.observe(e)
	}
}

func (s *State) applyJob(e Event) {
	switch e := e.(type) {
	case HeldJob:
		s.hold(e)
	case Freed:
		s.free(e)
	case MovedJob:
		s.move(e)
	case Forgot:
		s.forget(e)
	case Accepted:
		if j := s.Jobs[e.Address]; j != nil {
			j.Accepted, j.By, j.Updated = e.Result, e.By, plain(e.At)
		}
	case Reused:
		s.reuse(e)
	case MetricsRead:
		if j := s.Jobs[e.Address]; j != nil && j.Status == Completed {
			j.readAgain(e)
		}
	case OutputsSeen:
		if j := s.Jobs[e.Address]; j != nil {
			j.seeOutputs(e.Outputs)
			j.Updated = plain(e.At)
		}
	}
}

func (s *State) applyCampaign(e Event) {
	switch e := e.(type) {
	case Began:
		s.began(e)
	case Defined:
		put(&s.Definitions, e.Digest, compact(e.Definition))
	case Approved:
		s.approve(e.Approval)
	case Finished:
		s.finish(e)
	case Validated:
		v := e.Validation
		v.At, v.Metrics = plain(v.At), some(v.Metrics)
		put(&s.Validations, v.Fingerprint, v)
	case Overrode:
		o := e.Override
		o.At = plain(o.At)
		s.Overrides = append(s.Overrides, o)
	case Renamed:
		e.Renames.apply(s)
	case Noted:
		n := e.Note
		n.At = plain(n.At)
		put(&s.Notes, n.Address, append(list(s.Notes[n.Address]), n))
	case Reviewed:
		r := e.Review
		r.At = plain(r.At)
		put(&s.Reviews, r.Plan, append(list(s.Reviews[r.Plan]), r))
	case Spent:
		s.spend(e.Entry, time.Time{})
	case Rented:
		r := e.Rental
		r.Since, r.Began, r.Ended = plain(r.Since), plain(r.Began), plain(r.Ended)
		drop(&s.Rentals, e.Order)
		put(&s.Rentals, r.ID, r)
	default:
		s.applyStop(e)
	}
}

// applyStop folds events that keep jobs from starting: holds, breakers, full
// volumes, and backends that cannot be asked.
func (s *State) applyStop(e Event) {
	switch e := e.(type) {
	case HoldSet:
		h := e.Hold
		h.At = plain(h.At)
		h.Cancel = h.Cancel || slices.ContainsFunc(s.Holds, func(o Hold) bool { return o.Address == h.Address && o.Cancel })
		s.Holds = append(slices.DeleteFunc(s.Holds, func(o Hold) bool { return o.Address == h.Address }), h)
	case HoldClear:
		s.Holds = slices.DeleteFunc(s.Holds, func(o Hold) bool { return e.Address == "" && !o.Cancel || o.Address == e.Address })
		if len(s.Holds) == 0 {
			s.Holds = nil
		}
	case BreakerOpened:
		b := e.Breaker
		b.At = plain(b.At)
		put(&s.Breakers, b.Stops(), b)
	case BreakerClosed:
		drop(&s.Breakers, Breaker{Phase: e.Phase, Of: e.Of}.Stops())
	case Paused:
		p := e.Pause
		p.At = plain(p.At)
		put(&s.Pauses, p.Backend, p)
	case Unpaused:
		drop(&s.Pauses, e.Backend)
	case Unreachable:
		a := e.Away
		a.At = plain(a.At)
		put(&s.Away, a.Backend, a)
	case Reachable:
		drop(&s.Away, e.Backend)
	}
}

// began keeps the fields of an earlier Began that this one leaves empty.
// Backends stay after they left the campaign: their jobs may still have to be
// asked about. The lineage is given once.
func (s *State) began(e Began) {
	if s.Lineage == "" {
		s.Lineage = e.Lineage
	}
	if e.Campaign != "" {
		s.Campaign = e.Campaign
	}
	if e.Muster != "" {
		s.Muster = e.Muster
	}
	if e.Variables != nil {
		s.Variables = nil
		for name, v := range e.Variables {
			v.Value = compact(v.Value)
			put(&s.Variables, name, v)
		}
	}
	for name, b := range e.Backends {
		b.Config = compact(b.Config)
		put(&s.Backends, name, b)
	}
	for _, phase := range e.Unprotected {
		drop(&s.Protected, phase)
	}
	for _, phase := range e.Protected {
		put(&s.Protected, phase, true)
	}
}

// approve begins a plan. A plan that is begun again (resumed) keeps when it
// first began.
func (s *State) approve(a Approval) {
	a.Begun, a.Finished, a.Ceiling = plain(a.Begun), plain(a.Finished), some(a.Ceiling)
	if a.Programs = maps.Clone(a.Programs); len(a.Programs) == 0 {
		a.Programs = nil
	}
	if i := s.approval(a.Plan); i >= 0 {
		if old := s.Approvals[i]; !old.Begun.IsZero() {
			a.Begun = old.Begun
		}
		s.Approvals[i] = a
		return
	}
	s.Approvals = append(s.Approvals, a)
}

// finish ends a plan. One that is not known is noted all the same, so that it
// is refused when it is applied again.
func (s *State) finish(e Finished) {
	i := s.approval(e.Plan)
	if i < 0 {
		i = len(s.Approvals)
		s.Approvals = append(s.Approvals, Approval{Plan: e.Plan})
	}
	s.Approvals[i].Finished, s.Approvals[i].Outcome = plain(e.At), e.Outcome
}

func (s *State) approval(plan string) int {
	return slices.IndexFunc(s.Approvals, func(a Approval) bool { return a.Plan == plan })
}

// put and drop treat an empty map and none as the same, as the snapshot does.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func drop[V any](m *map[string]V, key string) {
	delete(*m, key)
	if len(*m) == 0 {
		*m = nil
	}
}

// some clones a map; an empty one is none.
func some[M ~map[string]V, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// plain is a time as it comes back from JSON: without a monotonic reading,
// and in UTC.
func plain(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

// compact is JSON text without the blanks that do not survive a journal.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return bytes.Clone(raw)
	}
	return b.Bytes()
}
