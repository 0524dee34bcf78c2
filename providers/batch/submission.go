package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A submission is one pass over the unsubmitted batches: it submits them in order,
// holds those that others depend on, and then releases them.
type submission struct {
	*campaign
	b      *backend
	agents agents

	todo []*batch
	// followed are the batches of todo that others of it depend on.
	followed map[*batch]bool
	// failed are the errors of batches that were not submitted. Waiting for room
	// is no error.
	failed map[*batch]*providers.Error
}

// submitPending submits every unsubmitted batch, and returns the errors of those
// that it could not submit.
func (s *Provider) submitPending(ctx context.Context, b *backend) map[*batch]*providers.Error {
	c := b.campaign
	sub := &submission{campaign: c, b: b, agents: s.agents(b), failed: map[*batch]*providers.Error{}}
	for _, k := range c.jobs.batches {
		if k.id == "" && !k.over() {
			sub.todo = append(sub.todo, k)
		}
	}
	if len(sub.todo) == 0 {
		c.releases.releaseAll(ctx)
		return sub.failed
	}
	sub.followed = c.jobs.followed(sub.todo)
	for i := 0; i < len(sub.todo); i++ {
		if !sub.next(ctx, i) {
			break
		}
	}
	sub.release(ctx)
	return sub.failed
}

// next submits the batch at index i, as far as possible. It is false if the
// batches after it must wait.
func (s *submission) next(ctx context.Context, i int) bool {
	k, err := s.unparked(i)
	if err != nil {
		s.failed[k] = asError(err)
		return false
	}
	if s.unready(k) {
		return true
	}
	if k, err = s.divide(i); err != nil {
		s.failed[k] = asError(err)
		return false
	}
	k, err = s.submit(ctx, k)
	if err != nil && !k.tried.IsZero() { // it is not known whether it submitted
		if where, _ := s.submitter.resolve(ctx, k); where == offer.Found {
			err = nil
		}
	}
	if err == nil {
		return true
	}
	pe := asError(err)
	if pe.Class == providers.Quota {
		s.reports.tell(k.waiting(s.b.site.Refused(k.Pool, k.like(), pe))...) // and so do its successors
		return true
	}
	s.failed[k] = pe
	if pe.Class == providers.Unreachable || pe.Class == providers.Internal {
		for _, later := range s.todo[i:] {
			s.failed[later] = pe
		}
		return false
	}
	s.jobs.forget(k)
	return true
}

// unparked is the batch at index i without jobs that are held by token: a part of
// it where it has some.
func (s *submission) unparked(i int) (*batch, error) {
	k := s.todo[i]
	free := s.holds.free(k)
	if len(free) == 0 || len(free) == len(k.jobs) || !k.tried.IsZero() {
		return k, nil
	}
	part, err := s.jobs.split(k, free)
	if err != nil {
		return k, err
	}
	s.insert(i, part)
	return part, nil
}

// insert inserts parts of the batch at index i before it.
func (s *submission) insert(i int, parts ...*batch) {
	for _, part := range parts {
		s.followed[part] = s.followed[s.todo[i]]
	}
	s.todo = slices.Insert(s.todo, i, parts...)
}

// unready reports whether a batch must wait: its phase is stopped, or a dependency
// is not submitted.
func (s *submission) unready(k *batch) bool {
	if s.jobs.stopped(k) {
		return true // a job that its wrapper would refuse need not be sent
	}
	if k.tried.IsZero() && s.holds.any(k) {
		return true
	}
	if p := s.jobs.before(k); p != nil && p.id == "" {
		return true
	}
	for _, j := range k.jobs {
		for _, t := range j.after {
			if p := s.jobs.open(t); p != nil && p.batch.id == "" && !p.ended {
				return true
			}
		}
	}
	return false
}

// divide is the batch at index i, or its first part where its jobs depend on parts
// of other batches: each part then depends on like elements of one of them. The
// batch keeps the last of them.
func (s *submission) divide(i int) (*batch, error) {
	k := s.todo[i]
	if !s.afterParts(k) || !k.Array || !k.tried.IsZero() {
		return k, nil
	}
	list, err := s.wanted(k)
	if err != nil {
		return k, err
	}
	var parts []*batch
	like := arrays.ByUpstream(list, s.jobs.openBatch)
	for _, list := range like[:max(len(like)-1, 0)] {
		var indexes []int
		for _, j := range list {
			indexes = append(indexes, s.jobs.byToken[j.Token].index)
		}
		slices.Sort(indexes)
		part, err := s.jobs.split(k, indexes)
		if err != nil {
			s.insert(i, parts...)
			return s.todo[i], err
		}
		parts = append(parts, part)
	}
	s.insert(i, parts...)
	return s.todo[i], nil
}

// afterParts reports whether a job of a batch depends on a job of a part.
func (s *submission) afterParts(k *batch) bool {
	for _, j := range k.jobs {
		for _, t := range j.after {
			if p := s.jobs.open(t); p != nil && p.batch.Of != "" {
				return true
			}
		}
	}
	return false
}

// submit submits one batch, or the part of it for which there is room, which it
// returns.
func (s *submission) submit(ctx context.Context, k *batch) (*batch, error) {
	hold := s.followed[k] || s.holds.all || s.dependencies.replaces(k)
	if !k.tried.IsZero() {
		switch where, err := s.submitter.resolve(ctx, k); {
		case err != nil, where == offer.Found:
			return k, err
		case where == offer.Unknown:
			w := s.queue.Words()
			return k, &providers.Error{Class: providers.Unreachable, Summary: "It is not known yet whether " + w.Name + " has the job", Detail: w.Submit + " of " + k.Name + " did not say; it is looked for"}
		}
	}
	list, err := s.wanted(k)
	if err != nil || len(list) == 0 {
		return k, err
	}
	n, why, err := s.room(ctx, k)
	if err != nil {
		return k, err
	}
	if n < len(list) {
		part, err := s.jobs.split(k, k.Indexes[:n])
		if err != nil {
			return k, err
		}
		if err := s.reports.tell(k.waiting(why)...); err != nil {
			return k, err
		}
		k, list = part, list[:n]
	}
	return s.send(ctx, k, list, hold)
}

// send submits one batch for which there is room. If the scheduler refuses it for
// a limit, send submits as many of its jobs as the scheduler takes.
func (s *submission) send(ctx context.Context, k *batch, list []*providers.Job, hold bool) (*batch, error) {
	k, err := s.consecutive(k)
	if err != nil {
		return k, err
	}
	e := s.submitter.edges(k, list)
	text, err := s.text(k, list, e)
	if err != nil {
		return k, err
	}
	k.wide = e.Each != nil // an element's own dependency must be there before it could start
	most, err := s.submitter.submit(ctx, k, text, hold || k.wide, s.b.site.Settings().Rate)
	if most == 0 {
		return k, err
	}
	part, err := s.jobs.split(k, k.Indexes[:most])
	if err != nil {
		return k, err
	}
	return s.send(ctx, part, list[:most], hold)
}

// consecutive is a batch as an array that the scheduler can have, or the part of it
// with all of its jobs.
func (s *submission) consecutive(k *batch) (*batch, error) {
	n := len(k.Indexes)
	if s.queue.Elements().Apart || !k.Array || n > 1 && k.Indexes[n-1] == n-1 {
		return k, nil
	}
	return s.jobs.split(k, k.Indexes)
}

// text is the script of a batch.
func (s *submission) text(k *batch, list []*providers.Job, e arrays.Edges) (string, error) {
	own, err := s.agents.own()
	if err != nil {
		return "", err
	}
	others, err := s.agents.foreign(k.Pool)
	if err != nil {
		return "", err
	}
	r := k.request(list[0], s.b.Campaign, s.spools.dir)
	r.Depend, r.Await, r.Agent, r.Others = e.Common, s.jobs.mayReturn(list), own, others
	return s.b.site.Script(r)
}

// wanted are the jobs of a batch that are still to run: not the cancelled ones,
// nor those with a failed dependency, which end here.
func (s *submission) wanted(k *batch) ([]*providers.Job, error) {
	elements, err := k.dir.Read()
	if err != nil {
		return nil, err
	}
	k.Indexes = nil
	var list []*providers.Job
	var blocked []offer.Observation
	for i := range elements {
		j := k.jobs[elements[i].Index]
		switch {
		case j == nil || j.ended:
		case s.jobs.stuck(j):
			blocked = append(blocked, j.cancelled(offer.Blocked, offer.Blocked))
		default:
			k.Indexes = append(k.Indexes, j.index)
			list = append(list, &elements[i].Job)
		}
	}
	return list, s.reports.tell(blocked...)
}

// room is how many jobs of a batch may be submitted now by the known limits, and
// why not all; none is an error of class quota.
func (s *submission) room(ctx context.Context, k *batch) (n int, why string, err error) {
	if err := s.limits.crowded(k); err != nil {
		return 0, "", err
	}
	n = len(k.Indexes)
	list, err := s.b.site.Limits(ctx, k.Pool, k.like())
	if err != nil {
		return 0, "", err
	}
	if len(list) == 0 {
		return n, why, nil
	}
	rows, err := s.queue.recent(ctx)
	if err != nil {
		return 0, "", err
	}
	for _, l := range list {
		mine := 0
		for _, r := range rows {
			if r.State != scheduler.Ended && l.Has(r) {
				mine++
			}
		}
		if left := l.Most - mine; k.Packed && left > 0 {
			continue // all of it is one job
		} else if left < n {
			n, why = left, fmt.Sprintf("%s lets you have %d jobs submitted", l.Who, l.Most)
		}
		if n <= 0 {
			return 0, why, &providers.Error{Class: providers.Quota, Summary: why}
		}
	}
	return n, why, nil
}

// release releases jobs held until all is submitted; batches that it could not release count
// as failed.
func (s *submission) release(ctx context.Context) {
	err := s.releases.releaseAll(ctx)
	if err == nil {
		err = s.releases.holdByToken(ctx, s.todo)
	}
	if err := asError(err); err != nil {
		for _, k := range s.todo {
			if k.id != "" && k.held != "" && !s.holds.all {
				s.failed[k] = err
			}
		}
	}
}

// asError is an error as a diagnostic.
func asError(err error) *providers.Error {
	var pe *providers.Error
	if err != nil && !errors.As(err, &pe) {
		pe = providers.Errorf(providers.Internal, "%v", err)
	}
	return pe
}
