package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// dependencies tell the scheduler which jobs a job waits for, where that was
// unknown, or could not be said, at submission. A job whose retry needs another
// pool, or more than the scheduler can change on a waiting job, gets a new token
// and a new id. Jobs that wait for the old id are redirected to the new one before
// that is released, so that they keep their place in the queue.
type dependencies struct {
	jobs    *jobs
	queue   *queue
	reports *reports
	untold  map[string]bool // tokens whose jobs have other ids than the scheduler was told
}

// repeat tells the scheduler again of all replacements; repeated changes are
// harmless.
func (ds *dependencies) repeat() {
	for t := range ds.jobs.replacements {
		ds.untold[t] = true
	}
}

// replace records, before submission, that new jobs replace those of the same
// address that failed and that others wait for.
func (ds *dependencies) replace(fresh []*providers.Job) error {
	waited := ds.waitedFor()
	if len(waited) == 0 {
		return nil
	}
	by := map[string][]string{} // address: tokens that are waited for
	for t := range waited {
		if p := ds.jobs.byToken[t]; p != nil && p.ended && p.last.Status != offer.Completed {
			if now := ds.jobs.current(t); now == nil || now.ended && now.last.Status != offer.Completed {
				by[p.address] = append(by[p.address], t)
			}
		}
	}
	for _, j := range fresh {
		for _, t := range by[j.Address] {
			old := ds.jobs.replacement(t)
			if err := os.WriteFile(ds.jobs.path("heirs", old), []byte(j.Token+"\n"), 0o600); err != nil {
				return fmt.Errorf("note the replacement of %s: %w", j.Address, err)
			}
			ds.jobs.replacements[old], ds.untold[t] = j.Token, true
		}
	}
	return nil
}

// waitedFor are the tokens that jobs wait for which have not ended.
func (ds *dependencies) waitedFor() map[string]bool {
	out := map[string]bool{}
	for _, j := range ds.jobs.byToken {
		if j.ended {
			continue
		}
		for _, t := range j.after {
			out[t] = true
		}
	}
	return out
}

// replaces reports whether a job of a batch replaces one that others wait for:
// they are redirected before it starts.
func (ds *dependencies) replaces(k *batch) bool {
	for t := range ds.untold {
		if j := ds.jobs.current(t); j != nil && j.batch == k {
			return true
		}
	}
	return false
}

// redirect changes the dependencies of jobs to the current ids. A job that the
// scheduler cannot change ends as blocked, and is submitted again later; its start
// checks its dependencies in any case.
func (ds *dependencies) redirect(ctx context.Context) error {
	due := map[string]bool{}
	for t := range ds.untold {
		if j := ds.jobs.current(t); j == nil || j.ended || j.batch.id != "" {
			due[t] = true
		}
	}
	if len(due) == 0 {
		return nil
	}
	by, told := map[*batch]map[string][]*job{}, map[string][]scheduler.Dependency{}
	for _, d := range ds.jobs.unfinished() {
		if d.last.Status != offer.Queued || !slices.ContainsFunc(d.after, func(t string) bool { return due[t] }) {
			continue
		}
		if ds.together(d.batch) {
			d.batch.wide = true // the next tellEach tells all of it
			continue
		}
		after, ready := ds.dependency(d)
		if !ready {
			continue // another that it comes after has no id yet
		}
		if by[d.batch] == nil {
			by[d.batch] = map[string][]*job{}
		}
		terms := fmt.Sprint(after)
		told[terms] = after
		by[d.batch][terms] = append(by[d.batch][terms], d)
	}
	for _, k := range ds.jobs.batches {
		for terms, jobs := range by[k] {
			if err := ds.redirectJobs(ctx, told[terms], jobs); err != nil {
				return err
			}
		}
	}
	for t := range due {
		delete(ds.untold, t)
	}
	return nil
}

func (ds *dependencies) redirectJobs(ctx context.Context, after []scheduler.Dependency, jobs []*job) error {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.index, b.index) })
	var blocked []offer.Observation
	for _, some := range jobsOf(jobs) {
		err := ds.queue.Change(ctx, []scheduler.Jobs{some}, scheduler.Depend(after))
		switch {
		case err == nil, scheduler.Gone(err):
			continue
		case !scheduler.Unchangeable(err):
			return err // it was not heard
		}
		if err := ds.queue.Cancel(ctx, []scheduler.Jobs{some}); err != nil && !scheduler.Gone(err) {
			return err
		}
		for _, j := range jobs {
			blocked = append(blocked, j.cancelled(offer.Blocked, offer.Blocked))
		}
	}
	return ds.reports.tell(blocked...)
}

// dependency lists the jobs for which a job still waits, without completed jobs,
// which the scheduler may have forgotten, and with the batch ahead of it in its
// lane. It is not ready while one of these jobs has no id.
func (ds *dependencies) dependency(j *job) (after []scheduler.Dependency, ready bool) {
	all := map[*batch][]int{}
	for _, t := range j.after {
		if p := ds.jobs.open(t); p != nil {
			if p.batch.id == "" {
				return nil, false
			}
			if !slices.Contains(all[p.batch], p.index) {
				all[p.batch] = append(all[p.batch], p.index)
			}
		}
	}
	for _, k := range ds.jobs.batches {
		if list := all[k]; len(list) > 0 {
			slices.Sort(list)
			after = append(after, arrays.Afterok(k.ahead(), list))
		}
	}
	if p := ds.jobs.before(j.batch); p != nil && p.id != "" {
		after = append(after, scheduler.Dependency{Kind: scheduler.AfterAny, ID: p.id})
	}
	return after, true
}

// tellEach gives each element its own dependencies, where those of an array
// cannot; until then all wait for all. It can be repeated, as muster may be
// killed, or the scheduler not answer.
func (ds *dependencies) tellEach(ctx context.Context, k *batch) error {
	if !k.wide || k.id == "" {
		return nil
	}
	if ds.together(k) {
		return ds.tellAll(ctx, k)
	}
	by := map[string][]*job{}
	told := map[string][]scheduler.Dependency{}
	var order []string
	for _, i := range k.Indexes {
		j := k.jobs[i]
		if j == nil || j.ended || j.last.Status == offer.Running {
			continue
		}
		after, ready := ds.dependency(j)
		if !ready {
			return nil // another that it comes after has no id yet
		}
		terms := fmt.Sprint(after)
		if len(by[terms]) == 0 {
			order, told[terms] = append(order, terms), after
		}
		by[terms] = append(by[terms], j)
	}
	for _, terms := range order {
		for _, jobs := range jobsOf(by[terms]) {
			err := ds.queue.Change(ctx, []scheduler.Jobs{jobs}, scheduler.Depend(told[terms]))
			if err != nil && !scheduler.Gone(err) && !scheduler.Unchangeable(err) {
				return err // it was not heard
			}
		}
	}
	k.wide = false
	return errors.Join(k.dir.Note("narrowed", "each was told its own"), k.dir.Note("wide", ""))
}

// together reports whether the jobs of a batch have one dependency for all.
func (ds *dependencies) together(k *batch) bool {
	return (k.Array || k.Packed) && !k.elements(ds.queue).Apart
}

// tellAll changes the dependencies of such an array as a whole. One that has begun,
// or that the scheduler does not change, keeps those that it has: the start of each
// element checks its own.
func (ds *dependencies) tellAll(ctx context.Context, k *batch) error {
	var list []*providers.Job
	begun := false
	for _, i := range k.Indexes {
		j := k.jobs[i]
		if j == nil {
			continue
		}
		if begun = begun || j.ended || j.last.Status != offer.Queued; begun {
			break
		}
		for _, t := range j.after {
			if p := ds.jobs.open(t); p != nil && p.batch.id == "" {
				return nil // a job that it comes after has no id yet
			}
		}
		list = append(list, &providers.Job{After: j.after})
	}
	if !begun {
		after := arrays.Depend(list, k.Indexes, k.elements(ds.queue), ds.jobs.ahead)
		if p := ds.jobs.before(k); p != nil && p.id != "" {
			after.Also(scheduler.Dependency{Kind: scheduler.AfterAny, ID: p.id})
		}
		if err := ds.queue.Change(ctx, scheduler.Whole(k.id), scheduler.Depend(after.Common)); err != nil && !scheduler.Heard(err) {
			return err
		}
	}
	k.wide = false
	return errors.Join(k.dir.Note("narrowed", "each was told its own"), k.dir.Note("wide", ""))
}
